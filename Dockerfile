# Two images: the worker (the default), and with `--target spark` the same with PySpark and Java.
# By its digest, an index of all platforms, so that equal sources make equal images. Another one: --build-arg BASE=...
ARG BASE=python:3.12.14-slim-trixie@sha256:f77ac9e44ae96ef2c90b8053ea08c31f8be030f824196b0ae4db6d462c84e51f

# The environment has no pip of its own, so that none is in the images' environments.
FROM ${BASE} AS build
RUN python -m venv --without-pip /opt/understudy
ENV PIP_PYTHON=/opt/understudy/bin/python
WORKDIR /build
# Everything that is fetched must have a hash that requirements.txt lists (`make lock`), setuptools too, which builds the package.
COPY requirements.txt ./
RUN pip install --no-cache-dir --require-hashes -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY connect_api connect_api
COPY connector connector
COPY workers workers
# The pages of `understudy docs`.
COPY docs docs
RUN pip install --no-cache-dir --no-deps --no-build-isolation .

FROM build AS build-worker
RUN pip uninstall --yes setuptools

FROM build AS build-spark
COPY requirements-spark.txt ./
RUN pip install --no-cache-dir --require-hashes --no-build-isolation -r requirements-spark.txt
RUN pip uninstall --yes setuptools

FROM ${BASE} AS runtime
# By number, so that Kubernetes can see that it is not root.
RUN useradd --system --uid 1001 --create-home --home-dir /understudy understudy
ENV PATH=/opt/understudy/bin:$PATH
WORKDIR /understudy
USER 1001
EXPOSE 8083
STOPSIGNAL SIGTERM
# 503 while the worker reads its topics and 500 when it cannot go on raise here, so that both count as unhealthy.
# No proxy of the environment leads to the container's own address.
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s \
    CMD ["python", "-I", "-c", "import urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://127.0.0.1:8083/health', timeout=2)"]
# Settings come as for the usual Connect images (BOOTSTRAP_SERVERS, GROUP_ID, CONNECT_...), or as a file: `worker FILE.properties`.
ENTRYPOINT ["understudy"]
CMD ["worker"]

# The jobs: --entrypoint understudy-spark. Jars are downloaded once into /understudy/.cache: make it a volume. A new volume takes the
# owner of the folder here.
FROM runtime AS spark
USER 0
RUN apt-get update && apt-get install --yes --no-install-recommends openjdk-21-jre-headless && rm -rf /var/lib/apt/lists/*
COPY --from=build-spark /opt/understudy /opt/understudy
USER 1001
RUN mkdir -p /understudy/.cache

FROM runtime AS worker
COPY --from=build-worker /opt/understudy /opt/understudy
