"""Where a request would rather go, said with real SDKs; where it may not go; and whose key is used. preferences.ts has the same checks.

Each check reads who answered from the reply's headers, and the providers refuse a request that has a member of the gateway's own.
"""

import json
import os
import time
import urllib.request

import anthropic
import openai
from google import genai

from checks import URL, fault, raises, run

HELLO = [{"role": "user", "content": "Say hello"}]
client = openai.OpenAI(base_url=URL + "/v1", api_key="dev-key", max_retries=0, timeout=60)
claude = anthropic.Anthropic(base_url=URL, api_key="dev-key", max_retries=0, timeout=60)


def ask(model="smart", prefer=None, headers=None, by=client, messages=HELLO, **body):
    """Gives who answered."""
    extra = dict(headers or {}) | ({"x-evergate-prefer": prefer} if prefer else {})
    raw = by.chat.completions.with_raw_response.create(model=model, messages=messages, extra_headers=extra, extra_body=body)
    assert raw.parse().choices[0].message.content, raw.text
    return raw.headers["x-evergate-provider"]


def trail(model="smart", **more):
    with raises(openai.APIStatusError) as e:
        ask(model, **more)
    return e.error.response.headers.get("x-evergate-trail"), e.error


def equal(got, want):
    assert got == want, (got, want)


def key_seen():
    """The last four characters of the key that the last request came to a provider with."""
    with urllib.request.urlopen(os.environ["MOCK_URL"] + "/mock/requests") as r:
        seen = json.load(r)
    return [q for q in seen if not q["path"].endswith("/models")][-1]["key"]


def nothing():
    equal(ask(), "us")


def order():
    equal(ask(provider={"order": ["claude", "eu"]}), "claude")
    equal(ask(provider={"order": ["EU"]}), "eu")
    equal(ask("fragile", models=["smart"], provider={"order": ["down", "eu"]}), "eu")  # within each model


def only():
    equal(ask(provider={"only": ["eu"]}), "eu")
    got, _ = trail(provider={"only": ["eu"]}, headers=fault("status=500"))
    equal(got, "eu/m=500")


def ignore():
    equal(ask(provider={"ignore": ["us", "eu"]}), "claude")


def sort():
    equal(ask(provider={"sort": "price"}), "claude")
    equal(ask(prefer="sort=price; ignore=claude"), "eu")


def no_fallbacks():
    got, _ = trail(provider={"allow_fallbacks": False}, headers=fault("status=500"))
    equal(got, "us/m=500")
    got, _ = trail(provider={"order": ["eu", "claude"], "allow_fallbacks": False}, headers=fault("status=500"))
    equal(got, "eu/m=500, claude/m=500")


def models():
    equal(ask("fragile", models=["overseas"]), "us")
    equal(ask("fragile", prefer="models=private,overseas"), "eu")


def header():
    equal(ask(prefer="order=eu"), "eu")
    got, _ = trail(prefer="order=claude; fallbacks=no", headers=fault("status=503"))
    equal(got, "claude/m=503")


def header_counts():
    """Where both speak of the same, the header counts; the rest of the body holds."""
    equal(ask(prefer="order=eu", provider={"order": ["us"]}), "eu")
    equal(ask(prefer="order=us,eu", provider={"ignore": ["us"]}), "eu")


def strict():
    """A member that another API has no place for is left out there, but not with strict."""
    equal(ask(provider={"order": ["claude"]}, logit_bias={"50256": -100}), "claude")
    equal(ask(provider={"order": ["claude"], "require_parameters": True}, logit_bias={"50256": -100}), "us")
    _, e = trail(prefer="strict; only=claude", logit_bias={"50256": -100})
    assert e.status_code == 400 and "logit_bias" in e.message, e


def max_price():
    equal(ask(provider={"max_price": {"prompt": 2.5, "completion": 2.5}}), "eu")
    equal(ask(prefer="max_price=1/1"), "claude")


def timeout():
    start = time.monotonic()
    _, e = trail(prefer="timeout=200ms", headers=fault("latency=5s"))
    assert e.status_code == 504 and e.code == "deadline_exceeded" and time.monotonic() - start < 3, e


def unknown_provider():
    _, e = trail(provider={"ignore": ["uss"]})
    assert isinstance(e, openai.BadRequestError) and e.code == "invalid_request" and "uss" in e.message, e
    _, e = trail(prefer="odrer=us")
    assert isinstance(e, openai.BadRequestError) and "odrer" in e.message, e


def nobody_left():
    """The refusal says of each candidate why it fell."""
    _, e = trail(provider={"ignore": ["us"], "only": ["us", "eu"], "max_price": {"prompt": 1, "completion": 1}})
    assert isinstance(e, openai.BadRequestError) and all(name in e.message for name in ("us/m", "eu/m", "claude/m")), e


def messages():
    more = {"model": "smart", "max_tokens": 64, "messages": HELLO}
    raw = claude.messages.with_raw_response.create(**more, extra_body={"provider": {"order": ["eu"]}})
    equal(raw.headers["x-evergate-provider"], "eu")
    raw = claude.messages.with_raw_response.create(**more, extra_headers={"x-evergate-prefer": "only=claude"})
    equal(raw.headers["x-evergate-provider"], "claude")
    with raises(anthropic.BadRequestError) as e:
        claude.messages.create(**more, extra_body={"provider": {"only": ["nobody"]}})
    assert "nobody" in str(e.error), e.error


def responses():
    for body in ({"provider": {"order": ["claude"]}}, {"provider": {"ignore": ["us", "eu"]}}):
        raw = client.responses.with_raw_response.create(model="smart", input="Say hello", extra_body=body)
        equal(raw.headers["x-evergate-provider"], "claude")


def gemini():
    google = genai.Client(api_key="dev-key", http_options={"base_url": URL, "headers": {"x-evergate-prefer": "order=eu"}})
    reply = google.models.generate_content(model="smart", contents="Say hello")
    equal(reply.sdk_http_response.headers["x-evergate-provider"], "eu")


def embeddings():
    raw = client.embeddings.with_raw_response.create(model="smart", input="hello", extra_body={"provider": {"only": ["eu"]}})
    equal(raw.headers["x-evergate-provider"], "eu")


def streamed():
    with client.chat.completions.with_streaming_response.create(
            model="smart", messages=HELLO, stream=True, extra_body={"provider": {"order": ["claude"]}}) as reply:
        equal(reply.headers["x-evergate-provider"], "claude")
        assert "[DONE]" in "".join(reply.iter_lines())


HOSPITAL = client.with_options(api_key="hospital-key")


def policy_of_key():
    equal(ask(by=HOSPITAL), "eu")
    got, _ = trail(by=HOSPITAL, headers=fault("status=500"))
    equal(got, "eu/m=500")  # a failover never leaves the policy
    _, e = trail("overseas", by=HOSPITAL)
    assert isinstance(e, openai.PermissionDeniedError) and e.code == "policy_denied" and "eu-only" in e.message, e
    _, e = trail(by=HOSPITAL, provider={"only": ["us"]})  # the policy leaves one, which the request does not want
    assert e.status_code == 400 and "eu-only" in e.message, e


def policy_of_request():
    equal(ask(prefer="policy=no-training"), "eu")
    equal(ask(provider={"data_collection": "deny"}), "eu")
    _, e = trail(prefer="policy=no-training", by=HOSPITAL, model="overseas")
    assert e.status_code == 403 and e.code == "policy_denied", e
    _, e = trail(prefer="policy=no-such")
    assert e.status_code == 400 and "no-such" in e.message, e


def policy_of_model():
    equal(ask("private"), "eu")
    _, e = trail("private", prefer="only=us")
    assert e.status_code == 400 and "eu-only" in e.message, e


OWN = {"x-evergate-key-theirs": "callers-own-mine"}


def byok():
    equal(ask("paid", headers=OWN), "theirs")
    equal(key_seen(), "mine")
    equal(ask(), "us")
    equal(key_seen(), "ours")
    equal(ask("shared"), "us")  # who brings no key is not sent where one is needed
    equal(ask("shared", headers=OWN), "theirs")
    equal(ask(headers=OWN), "us")


def byok_refused():
    """What is wrong with the caller's key is the caller's to know."""
    _, e = trail("shared", headers={"x-evergate-key-theirs": "wrong-own-key"})
    assert isinstance(e, openai.AuthenticationError), e
    equal(ask("shared", headers=OWN), "theirs")  # and rests nobody else's


def byok_needed():
    _, e = trail("paid")
    assert isinstance(e, openai.BadRequestError) and "theirs" in e.message, e


run(nothing, order, only, ignore, sort, no_fallbacks, models, header, header_counts, strict, max_price, timeout, unknown_provider, nobody_left,
    messages, responses, gemini, embeddings, streamed, policy_of_key, policy_of_request, policy_of_model, byok, byok_refused, byok_needed)
