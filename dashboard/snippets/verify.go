package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

func isAuthentic(secret string, body []byte, header string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	expected := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(header))
}
