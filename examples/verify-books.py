#!/usr/bin/env python3
"""Recomputes exported books without the service: balances, hashes, sums and the chain of daily closes.

    python3 verify-books.py statement.jsonl [earlier.jsonl ...]

Each file is a statement in JSON Lines (GET /operator/v1/accounts/{id}/statement?format=jsonl, or of a connection). Checked are:

- opening + lines = closing, each `net` is what its entry moves, and each `balance_after` is the one before it and `net`;
- positions of an account's entries have no gap;
- `lines_hash`, sums, balances and `hash` of each close whose whole day is in the file, and that each names the one before it;
- closes that several files have in common are equal: an export from before shows what was rewritten since.

It needs Python 3.8 or later and nothing else. It exits with 1 and names each day and line that does not fit.
"""
import hashlib
import json
import sys


def sha256(text):
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def shown(value):
    return "" if value is None else str(value)


def entry_text(line):
    """An entry as it is hashed."""
    entry = line["entry"]
    fields = [
        line["id"],
        line["position"],
        entry["reason"],
        entry["debit"],
        entry["credit"],
        entry["amount"],
        entry["fee"],
        entry["debit_after"],
        entry["credit_after"],
        line["created_at"],
        entry["resource_id"],
        entry["source_id"],
        sha256(line["reference"]) if entry["reason"] == "adjustment" and line["reference"] is not None else "",
    ]
    return "|".join(shown(field) for field in fields) + "\n"


def net_of(entry, of_account):
    """What an entry adds to an account's available balance, or to the bank account of a connection."""
    gains, loses = (entry["credit"], entry["debit"]) if of_account else (entry["debit"], entry["credit"])
    side = "available" if of_account else "acquirer"
    return entry["amount"] if gains == side else -entry["amount"] if loses == side else 0


def close_text(close):
    """A close as it is hashed."""
    book = "ledger" if close["account_id"] is not None else "bank"
    owner = close["account_id"] or close["connection_id"]
    balances = ",".join(f"{kind}={close['balances'][kind]}" for kind in sorted(close["balances"]))
    fields = [
        "close", book, owner, close["day"], close["opening"], close["credits"], close["debits"], close["fees"],
        close["closing"], close["lines"], close["last_position"], balances, close["lines_hash"], close["previous_hash"],
    ]
    return "|".join(shown(field) for field in fields)


class Books:
    def __init__(self):
        self.problems = []
        self.known = {}
        self.days = 0
        self.lines = 0

    def problem(self, name, text):
        self.problems.append(f"{name}: {text}")

    def check(self, name):
        with open(name, encoding="utf-8") as file:
            rows = [json.loads(row) for row in file if row.strip()]
        if not rows or rows[0]["object"] != "statement":
            return self.problem(name, "is no statement in JSON Lines")
        if rows[-1]["object"] != "statement_end":
            return self.problem(name, "was cut off: it has no end")
        head, end = rows[0], rows[-1]
        lines = [row for row in rows if row["object"] == "balance_transaction"]
        closes = [row for row in rows if row["object"] == "close"]
        self.check_lines(name, head, end, lines)
        self.check_closes(name, head, closes, lines)

    def check_lines(self, name, head, end, lines):
        of_account = head["book"] == "account"
        balance, position, day = head["opening"], None, head["from"]
        for line in lines:
            self.lines += 1
            here = f"{line['day']} {line['id']}"
            if line["net"] != line["amount"] - line["fee"]:
                self.problem(name, f"{here}: net is not amount - fee")
            if line["net"] != net_of(line["entry"], of_account):
                self.problem(name, f"{here}: net is {line['net']}, and its entry moves {net_of(line['entry'], of_account)}")
            balance += line["net"]
            if line["balance_after"] is not None and line["balance_after"] != balance:
                self.problem(name, f"{here}: the balance is {line['balance_after']}, and its lines make {balance}")
                balance = line["balance_after"]
            if of_account and position is not None and line["position"] != position + 1:
                self.problem(name, f"{here}: position {line['position']} follows {position}")
            if line["day"] < day:
                self.problem(name, f"{here}: its day is before that of the line before")
            position, day = line["position"], line["day"]
        if end["lines"] != len(lines):
            self.problem(name, f"has {len(lines)} lines, and its end says {end['lines']}")
        if end["closing"] != balance:
            self.problem(name, f"closes at {end['closing']}, and its lines make {balance}")

    def check_closes(self, name, head, closes, lines):
        by_day = {}
        for line in lines:
            by_day.setdefault(line["day"], []).append(line)
        if closes:
            opening = head["opening"] + sum(line["net"] for line in lines if line["day"] < closes[0]["day"])
            if closes[0]["opening"] != opening:
                self.problem(name, f"{closes[0]['day']}: opens at {closes[0]['opening']}, and the file makes {opening}")
        previous = None
        for close in closes:
            self.days += 1
            self.check_close(name, close, by_day.get(close["day"], []), previous)
            previous = close
        closed = {close["day"] for close in closes}
        last = max(closed, default="")
        for day in sorted(by_day):
            if day < last and day not in closed:
                self.problem(name, f"{day}: has entries and no close")

    def check_close(self, name, close, lines, previous):
        day = close["day"]
        if sha256(close_text(close)) != close["hash"]:
            self.problem(name, f"{day}: the hash is not that of the close")
        if sha256("".join(entry_text(line) for line in lines)) != close["lines_hash"]:
            self.problem(name, f"{day}: the entries are not those that were closed")
        credits = sum(line["net"] for line in lines if line["net"] > 0)
        debits = -sum(line["net"] for line in lines if line["net"] < 0)
        for field, value in [
            ("lines", len(lines)),
            ("credits", credits),
            ("debits", debits),
            ("fees", sum(line["fee"] for line in lines)),
            ("closing", close["opening"] + credits - debits),
        ]:
            if close[field] != value:
                self.problem(name, f"{day}: {field} is {close[field]}, and its entries make {value}")
        if previous is not None:
            if close["previous_hash"] != previous["hash"]:
                self.problem(name, f"{day}: does not name the close of {previous['day']}")
            if close["opening"] != previous["closing"]:
                self.problem(name, f"{day}: opens at {close['opening']}, and {previous['day']} closed at {previous['closing']}")
            self.check_balances(name, close, lines, previous)
        key = (close["account_id"], close["connection_id"], day)
        if self.known.setdefault(key, close["hash"]) != close["hash"]:
            self.problem(name, f"{day}: another file has another close of this day")

    def check_balances(self, name, close, lines, previous):
        if close["account_id"] is None:
            return
        balances = dict(previous["balances"])
        for line in lines:
            entry = line["entry"]
            balances[entry["credit"]] = balances.get(entry["credit"], 0) + entry["amount"]
            balances[entry["debit"]] = balances.get(entry["debit"], 0) - entry["amount"]
        if balances != close["balances"]:
            self.problem(name, f"{close['day']}: the balances are not those of {previous['day']} and the entries")


def main(names):
    if not names:
        print(__doc__)
        return 2
    books = Books()
    for name in names:
        books.check(name)
    for problem in books.problems:
        print(problem)
    print(f"{len(names)} files, {books.days} closes, {books.lines} lines: " + ("differs" if books.problems else "fits"))
    return 1 if books.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
