# docker build -t towhom . && docker run -p 127.0.0.1:8080:8080 -v towhom:/data -e TOWHOM_SERVE_TOKEN=... towhom
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --constraint constraints.txt '.[serve,postgres]'

FROM python:3.12-slim
RUN useradd --system --uid 10001 --no-create-home towhom && install -d -o towhom -g towhom -m 700 /data
COPY --from=build /venv /venv
USER towhom
ENV PATH=/venv/bin:$PATH TOWHOM_SERVE_HOST=0.0.0.0 TOWHOM_SERVE_DATA=/data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --start-period=20s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/readyz', timeout=5)"]
ENTRYPOINT ["towhom", "serve"]
