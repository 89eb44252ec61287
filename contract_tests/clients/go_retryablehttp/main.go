// Sends a message with go-retryablehttp: see contract_tests/clients/retry_program.py.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

var (
	told  = json.NewEncoder(os.Stdout)
	lines = bufio.NewReader(os.Stdin)
)

func main() {
	sent := []byte(os.Getenv("BODY"))
	var message struct{ To string }
	must(0, json.Unmarshal(sent, &message))
	client := retryablehttp.NewClient()
	client.RetryMax = 3
	client.Logger = nil
	client.Backoff = pause
	client.ErrorHandler = retryablehttp.PassthroughErrorHandler
	request := must(retryablehttp.NewRequest(http.MethodPost, os.Getenv("BASE_URL")+"/messages/send", sent))
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", message.To)
	response := must(client.Do(request))
	defer response.Body.Close()
	must(0, told.Encode(map[string]any{
		"status": response.StatusCode,
		"body":   json.RawMessage(must(io.ReadAll(response.Body))),
	}))
}

// pause prints the pause that go-retryablehttp would make.
func pause(least, most time.Duration, attempt int, response *http.Response) time.Duration {
	seconds := retryablehttp.DefaultBackoff(least, most, attempt, response).Seconds()
	must(0, told.Encode(map[string]float64{"pause": seconds}))
	must(lines.ReadString('\n'))
	return 0
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
