FROM python:3.12-slim

RUN useradd --system --uid 1001 --home-dir /understudy understudy
WORKDIR /understudy
COPY pyproject.toml README.md LICENSE ./
COPY connect_api connect_api
COPY connector connector
COPY workers workers
RUN pip install --no-cache-dir .

USER understudy
EXPOSE 8083
STOPSIGNAL SIGTERM
# 503 while the worker reads its topics and 500 when it cannot go on raise here, so that both count as unhealthy.
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s \
    CMD ["python", "-I", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8083/health', timeout=2)"]

# Settings come as for the usual Connect images (BOOTSTRAP_SERVERS, GROUP_ID, CONNECT_...), or as a file: `worker FILE.properties`.
ENTRYPOINT ["understudy"]
CMD ["worker"]
