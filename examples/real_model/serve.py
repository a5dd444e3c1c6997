"""Serve a GGUF through llama.cpp's server; runs in the environment that has `xllamacpp`: `serve.py MODEL PORT`."""

from __future__ import annotations

import sys
import threading

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.port = int(sys.argv[2])
parameters.n_ctx = 16384
parameters.n_parallel = 1
parameters.use_jinja = True
parameters.cpuparams.n_threads = 2
parameters.cpuparams_batch.n_threads = 2
parameters.model_alias = {"local"}
server = xllamacpp.Server(parameters)
sys.stdout.write(f"{server.listening_address}\n")
sys.stdout.flush()
threading.Event().wait()
