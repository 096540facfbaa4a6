------------------------------- MODULE Money -------------------------------
(* The machines of money: a charge with its payments and a MED, a payout, a refund of a part, and the return of an exception.
   Two processes read what the bank says and commit later, crash in between, and send an order again; the bank answers late, twice or
   never. Rules: PAY-1, PAY-4, PAY-5, PAY-6, CHG-7, CHG-8, CHG-9, BAL-3, BAL-4, BAL-5, BAL-9, BAL-11, BAL-12, DSP-1 to DSP-5.

   A charge has 2 cents. The payout and the refund have 1, the MED contests the other cent of the charge, the return has the 2 cents of
   the second payment. A process that has read something has it in `has`; a crash empties it.

   `Fault` plants a mistake: the checker must find it. *)
EXTENDS Integers, FiniteSets

CONSTANTS Processes, Orders, Payments, Sends, HasMed, Fault

VARIABLES
  charge,      \* pending, paid, infraction, charged_back
  settled,     \* payments that are claimed: a charge paid, or an exception raised
  exception,   \* none, open, returning, accepted, returned
  dispute,     \* none, open, won, lost
  available, blocked, transit, unallocated,
  order,       \* of each order: none, processing, completed, failed
  ended,       \* the first final state that each order had
  sends,       \* how often an order was sent
  unclear,     \* how many of these have had no definite answer, as the books know
  way,         \* requests on their way to the bank
  paid,        \* payments that the bank has
  bankOrder,   \* none, accepted, done, failed
  bankDebits,  \* how often the bank has paid an order
  bankMed,     \* none, open, won, lost
  bank,        \* the balance at the bank
  has          \* what each process has read and not committed

vars == <<charge, settled, exception, dispute, available, blocked, transit, unallocated, order, ended, sends, unclear, way, paid,
          bankOrder, bankDebits, bankMed, bank, has>>

Nothing == [kind |-> "nothing", of |-> "nothing", says |-> "nothing"]
Read(kind, of, says) == [kind |-> kind, of |-> of, says |-> says]
Final == {"completed", "failed"}
Amount(o) == IF o = "return" THEN 2 ELSE 1
books == <<charge, settled, exception, dispute, available, blocked, transit, unallocated, order, ended, sends, unclear>>
theBank == <<paid, bankOrder, bankDebits, bankMed, bank>>

Init ==
  /\ charge = "pending" /\ settled = {} /\ exception = "none" /\ dispute = "none"
  /\ available = 0 /\ blocked = 0 /\ transit = 0 /\ unallocated = 0
  /\ order = [o \in Orders |-> "none"] /\ ended = [o \in Orders |-> "none"]
  /\ sends = [o \in Orders |-> 0] /\ unclear = [o \in Orders |-> 0] /\ way = [o \in Orders |-> 0]
  /\ paid = 0 /\ bankOrder = [o \in Orders |-> "none"] /\ bankDebits = [o \in Orders |-> 0] /\ bankMed = "none" /\ bank = 0
  /\ has = [p \in Processes |-> Nothing]

(* ---- The bank ---- *)
BankPaid ==
  /\ paid < Payments /\ paid' = paid + 1 /\ bank' = bank + 2
  /\ UNCHANGED <<books, way, bankOrder, bankDebits, bankMed, has>>

BankOpensMed ==
  /\ HasMed /\ bankMed = "none" /\ paid > 0 /\ bankMed' = "open"
  /\ UNCHANGED <<books, way, paid, bankOrder, bankDebits, bank, has>>

BankDecidesMed ==
  /\ bankMed = "open"
  /\ \/ bankMed' = "won" /\ UNCHANGED bank
     \/ bankMed' = "lost" /\ bank' = bank - 1
  /\ UNCHANGED <<books, way, paid, bankOrder, bankDebits, has>>

(* A request arrives. A known order is answered as it is; a new one is accepted or refused. The answer reaches a process, or none. *)
Answers(o, says) ==
  \/ UNCHANGED has
  \/ \E p \in Processes : has[p] = Nothing /\ has' = [has EXCEPT ![p] = Read("answer", o, says)]

BankAccepts(o) ==
  /\ way[o] > 0 /\ (bankOrder[o] = "none" \/ Fault = "another id")
  /\ way' = [way EXCEPT ![o] = @ - 1]
  /\ bankOrder' = [bankOrder EXCEPT ![o] = "accepted"]
  /\ bankDebits' = [bankDebits EXCEPT ![o] = @ + 1]
  /\ bank' = bank - Amount(o)
  /\ Answers(o, "accepted")
  /\ UNCHANGED <<books, paid, bankMed>>

BankKnows(o) ==
  /\ way[o] > 0 /\ bankOrder[o] # "none" /\ Fault # "another id"
  /\ way' = [way EXCEPT ![o] = @ - 1]
  /\ Answers(o, "accepted")
  /\ UNCHANGED <<books, theBank>>

BankRefuses(o) ==
  /\ way[o] > 0 /\ bankOrder[o] = "none" /\ way' = [way EXCEPT ![o] = @ - 1]
  /\ Answers(o, "refused")
  /\ UNCHANGED <<books, theBank>>

BankEnds(o) ==
  /\ bankOrder[o] = "accepted"
  /\ \/ bankOrder' = [bankOrder EXCEPT ![o] = "done"] /\ UNCHANGED bank
     \/ bankOrder' = [bankOrder EXCEPT ![o] = "failed"] /\ bank' = bank + Amount(o)
  /\ UNCHANGED <<books, way, paid, bankDebits, bankMed, has>>

(* ---- What processes read: at any time, again and again, and commit later ---- *)
ReadsPayment(p, k) == has[p] = Nothing /\ k <= paid /\ has' = [has EXCEPT ![p] = Read("payment", k, "paid")]

ReadsMed(p) == has[p] = Nothing /\ bankMed # "none" /\ has' = [has EXCEPT ![p] = Read("med", "med", bankMed)]

ReadsOutcome(p, o) ==
  /\ has[p] = Nothing /\ order[o] = "processing" /\ bankOrder[o] \in {"done", "failed"}
  /\ has' = [has EXCEPT ![p] = Read("outcome", o, bankOrder[o])]

(* After two minutes no request can arrive any more: that the bank has no such order is definite then. *)
ReadsAbsence(p, o) ==
  /\ has[p] = Nothing /\ order[o] = "processing" /\ bankOrder[o] = "none" /\ way[o] = 0 /\ unclear[o] > 0
  /\ has' = [has EXCEPT ![p] = Read("outcome", o, "absent")]

Reads(p) ==
  /\ \/ \E k \in 1..Payments : ReadsPayment(p, k)
     \/ ReadsMed(p)
     \/ \E o \in Orders : ReadsOutcome(p, o) \/ ReadsAbsence(p, o)
  /\ UNCHANGED <<books, theBank, way>>

Crashes(p) == has[p] # Nothing /\ has' = [has EXCEPT ![p] = Nothing] /\ UNCHANGED <<books, theBank, way>>

Done(p) == has' = [has EXCEPT ![p] = Nothing]

(* ---- Commits ---- *)
CommitsPayment(p) ==
  /\ has[p].kind = "payment" /\ Done(p)
  /\ IF has[p].of \in settled /\ Fault # "no claim" THEN UNCHANGED books
     ELSE /\ settled' = settled \cup {has[p].of}
          /\ IF charge = "pending"
             THEN charge' = "paid" /\ available' = available + 2 /\ UNCHANGED <<unallocated, exception>>
             ELSE unallocated' = unallocated + 2 /\ exception' = "open" /\ UNCHANGED <<charge, available>>
          /\ UNCHANGED <<dispute, blocked, transit, order, ended, sends, unclear>>
  /\ UNCHANGED <<theBank, way>>

(* What is read of a MED before its payment waits: it is read again. *)
CommitsMed(p) ==
  /\ has[p].kind = "med" /\ Done(p) /\ UNCHANGED <<theBank, way>>
  /\ LET says == has[p].says IN
     IF charge = "pending" THEN UNCHANGED books
     ELSE IF says = "open" /\ dispute = "none" THEN
       /\ dispute' = "open" /\ charge' = "infraction" /\ available' = available - 1 /\ blocked' = blocked + 1
       /\ UNCHANGED <<settled, exception, transit, unallocated, order, ended, sends, unclear>>
     ELSE IF says = "won" /\ dispute \in {"none", "open"} THEN
       /\ dispute' = "won" /\ charge' = "paid"
       /\ IF dispute = "open" THEN available' = available + 1 /\ blocked' = blocked - 1 ELSE UNCHANGED <<available, blocked>>
       /\ UNCHANGED <<settled, exception, transit, unallocated, order, ended, sends, unclear>>
     ELSE IF says = "lost" /\ (dispute \in {"none", "open", "won"} \/ Fault = "no guard of states") THEN
       /\ dispute' = "lost" /\ charge' = "charged_back"
       /\ IF dispute = "open" THEN blocked' = blocked - 1 /\ UNCHANGED available ELSE available' = available - 1 /\ UNCHANGED blocked
       /\ UNCHANGED <<settled, exception, transit, unallocated, order, ended, sends, unclear>>
     ELSE UNCHANGED books

(* An order's money leaves with its commit. *)
Begins(o) ==
  /\ transit' = transit + Amount(o)
  /\ order' = [order EXCEPT ![o] = "processing"]
  /\ UNCHANGED <<charge, settled, dispute, blocked, ended, sends, unclear, way, theBank, has>>

OrdersFromAccount(o) ==
  /\ o # "return" /\ order[o] = "none" /\ available >= 1
  /\ (o = "refund" => charge \in {"paid", "infraction"})
  /\ available' = available - 1
  /\ Begins(o) /\ UNCHANGED <<unallocated, exception>>

OrdersReturn(o) ==
  /\ o = "return" /\ order[o] = "none" /\ exception = "open"
  /\ exception' = "returning" /\ unallocated' = unallocated - 2
  /\ Begins(o) /\ UNCHANGED available

Accepts ==
  /\ exception = "open" /\ exception' = "accepted" /\ available' = available + 2 /\ unallocated' = unallocated - 2
  /\ UNCHANGED <<charge, settled, dispute, blocked, transit, order, ended, sends, unclear, way, theBank, has>>

(* Any process sends it, also while another one's request is on its way: its lease may have run out. *)
SendsOrder(o) ==
  /\ order[o] = "processing" /\ sends[o] < Sends
  /\ sends' = [sends EXCEPT ![o] = @ + 1] /\ unclear' = [unclear EXCEPT ![o] = @ + 1] /\ way' = [way EXCEPT ![o] = @ + 1]
  /\ UNCHANGED <<charge, settled, exception, dispute, available, blocked, transit, unallocated, order, ended, theBank, has>>

Ends(o, state) ==
  /\ order' = [order EXCEPT ![o] = state]
  /\ ended' = [ended EXCEPT ![o] = IF @ = "none" THEN state ELSE @]
  /\ transit' = transit - Amount(o)
  /\ IF state = "completed"
     THEN /\ UNCHANGED <<available, unallocated>>
          /\ exception' = IF o = "return" THEN "returned" ELSE exception
     ELSE IF o = "return"
          THEN unallocated' = unallocated + 2 /\ exception' = "open" /\ UNCHANGED available
          ELSE available' = available + 1 /\ UNCHANGED <<unallocated, exception>>
  /\ UNCHANGED <<charge, settled, dispute, blocked, sends, unclear>>

(* A refusal ends an order only where no other request can be on its way, and none was accepted before. *)
CommitsAnswer(p) ==
  /\ has[p].kind = "answer" /\ Done(p) /\ UNCHANGED <<theBank, way>>
  /\ LET o == has[p].of IN
     IF order[o] # "processing" THEN UNCHANGED books
     ELSE IF has[p].says = "refused" /\ (unclear[o] = 1 \/ Fault = "a refusal ends it") THEN Ends(o, "failed")
     ELSE UNCHANGED books

CommitsOutcome(p) ==
  /\ has[p].kind = "outcome" /\ Done(p) /\ UNCHANGED <<theBank, way>>
  /\ LET o == has[p].of IN
     IF order[o] # "processing" /\ Fault # "no guard of states" THEN UNCHANGED books
     ELSE IF has[p].says = "done" THEN Ends(o, "completed")
     ELSE IF has[p].says = "failed" THEN Ends(o, "failed")
     ELSE UNCHANGED books

Next ==
  \/ BankPaid \/ BankOpensMed \/ BankDecidesMed \/ Accepts
  \/ \E o \in Orders : BankAccepts(o) \/ BankKnows(o) \/ BankRefuses(o) \/ BankEnds(o) \/ OrdersFromAccount(o) \/ OrdersReturn(o) \/ SendsOrder(o)
  \/ \E p \in Processes : Reads(p) \/ Crashes(p) \/ CommitsPayment(p) \/ CommitsMed(p) \/ CommitsAnswer(p) \/ CommitsOutcome(p)

Spec == Init /\ [][Next]_vars

(* ---- What always holds ---- *)
At(o) == IF order[o] = "processing" /\ bankOrder[o] \in {"accepted", "done"} THEN Amount(o) ELSE 0
Sum(f) == (IF "payout" \in Orders THEN At("payout") ELSE 0) + (IF "refund" \in Orders THEN At("refund") ELSE 0)
          + (IF "return" \in Orders THEN At("return") ELSE 0)

(* No money is made or lost: the books are the bank's balance, but for what the bank did and nobody has read yet. *)
InvMoney ==
  available + blocked + transit + unallocated =
    bank + Sum(0) - 2 * (paid - Cardinality(settled)) + (IF bankMed = "lost" /\ dispute # "lost" THEN 1 ELSE 0)

(* The bank pays no order twice, and none that the books have as failed. *)
InvOnce == \A o \in Orders :
  bankDebits[o] <= 1 /\ (order[o] = "failed" => bankOrder[o] \in {"none", "failed"}) /\ (order[o] = "completed" => bankOrder[o] = "done")

InvFinal ==
  /\ \A o \in Orders : ended[o] # "none" => order[o] = ended[o]
  /\ (dispute = "lost" <=> charge = "charged_back")

InvNotBelow == blocked >= 0 /\ transit >= 0 /\ unallocated >= 0 /\ (dispute = "none" => available >= 0)
=============================================================================
