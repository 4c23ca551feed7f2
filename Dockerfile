# By its digest, an index of all platforms, so that equal sources make equal images. Another one: --build-arg BASE=...
ARG BASE=python:3.12.14-slim-trixie@sha256:f77ac9e44ae96ef2c90b8053ea08c31f8be030f824196b0ae4db6d462c84e51f
FROM ${BASE}

RUN useradd --system --uid 1001 --home-dir /understudy understudy
WORKDIR /understudy
# Everything that is fetched must have a hash that requirements.txt lists (`make lock`), setuptools too, which builds the package.
COPY requirements.txt ./
RUN pip install --no-cache-dir --require-hashes -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY connect_api connect_api
COPY connector connector
COPY workers workers
RUN pip install --no-cache-dir --no-deps --no-build-isolation .

USER understudy
EXPOSE 8083
STOPSIGNAL SIGTERM
# 503 while the worker reads its topics and 500 when it cannot go on raise here, so that both count as unhealthy.
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s \
    CMD ["python", "-I", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8083/health', timeout=2)"]

# Settings come as for the usual Connect images (BOOTSTRAP_SERVERS, GROUP_ID, CONNECT_...), or as a file: `worker FILE.properties`.
ENTRYPOINT ["understudy"]
CMD ["worker"]
