// A webhook receiver for Go 1.19 or later, with the standard library only.
//
// It verifies the signature and the time of each attempt, handles each delivery once, and answers 2xx after it was handled.
//
//	WEBHOOK_SECRET=... PORT=4000 go run main.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const tolerance, maxBytes, claimTime = 300 * time.Second, 1 << 20, time.Minute

type event struct {
	ID    string `json:"id"`
	Event string `json:"event"`
	Data  struct {
		Reference string `json:"reference"`
		Test      bool   `json:"test"`
	} `json:"data"`
}

// handle is your code. It has ten seconds; an error makes the service send the delivery again.
func handle(e event) error {
	if e.Event == "charge.pix.paid" {
		fmt.Println("paid", e.Data.Reference)
	}
	fmt.Println("handled", e.ID, e.Event)
	return nil
}

// setting is read from the environment.
func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// keyOf returns the bytes of the key: whsec_ and base64 are the decoded bytes, any other text is its UTF-8 bytes.
func keyOf(secret string) []byte {
	if strings.HasPrefix(secret, "whsec_") {
		if key, err := base64.StdEncoding.DecodeString(secret[len("whsec_"):]); err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(secret)
}

// refusal says why a delivery is not accepted; empty if it is.
func refusal(header http.Header, body []byte, now time.Time) string {
	id, sent, given := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if id == "" || given == "" || err != nil {
		return "missing header"
	}
	isOurs := false
	// Both are accepted while one is rotated.
	for _, name := range []string{"WEBHOOK_SECRET", "OLD_WEBHOOK_SECRET"} {
		secret := os.Getenv(name)
		mac := hmac.New(sha256.New, keyOf(secret))
		mac.Write([]byte(id + "." + sent + "."))
		mac.Write(body)
		expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, signature := range strings.Split(given, " ") {
			// Every comparison is made, each in constant time.
			isOurs = hmac.Equal([]byte(expected), []byte(signature)) && secret != "" || isOurs
		}
	}
	if !isOurs {
		return "wrong signature: compare the secrets, and verify the raw body"
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return "too old: check the clock"
	}
	return ""
}

// handleOnce returns the status to answer. A claim of a process that died ends after a minute. A table with a primary key does
// the same: see packages/client/src/stores.ts.
func handleOnce(e event) int {
	folder := setting("HANDLED", "handled")
	name := fmt.Sprintf("%s/%x", folder, sha256.Sum256([]byte(e.ID)))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 500
	}
	claim, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		claim.Close()
	} else if info, err := os.Stat(name); err != nil || time.Since(info.ModTime()) < claimTime {
		return 503
	} else {
		_ = os.Chtimes(name, time.Now(), time.Now())
	}
	// Only with the claim: another one may have handled it until then.
	if _, err := os.Stat(name + ".done"); err == nil {
		os.Remove(name)
		return 204
	}
	if err := handle(e); err != nil {
		os.Remove(name)
		log.Println("failed", err)
		return 500
	}
	if err := os.Rename(name, name+".done"); err != nil {
		return 500
	}
	return 204
}

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
	var e event
	switch reason := refusal(r.Header, body, time.Now()); {
	case r.Method != http.MethodPost:
		w.WriteHeader(405)
	case err != nil:
		w.WriteHeader(413)
	case reason != "":
		log.Println("refused", reason)
		w.WriteHeader(401)
	case json.Unmarshal(body, &e) != nil:
		w.WriteHeader(400)
	case e.Data.Test: // A test of the endpoint is about no money.
		w.WriteHeader(204)
	default:
		w.WriteHeader(handleOnce(e))
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+setting("PORT", "4000"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, http.HandlerFunc(receive)))
}
