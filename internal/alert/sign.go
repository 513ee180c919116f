package alert

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// SignatureHeader has the time and the signature of a delivery: t=<seconds since 1970>,v1=<hex>.
const SignatureHeader = "Evergate-Signature"

// Sign is the signature of a body that is sent at a time: HMAC-SHA256 with the receiver's secret over the time in seconds, a full
// stop and the body. A receiver that refuses old times cannot be told again what somebody listened to.
func Sign(secret string, at time.Time, body []byte) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(seconds)) // a hash never fails
	_, _ = mac.Write([]byte{'.'})
	_, _ = mac.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
