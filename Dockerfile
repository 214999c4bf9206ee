# The build needs no database: queries are checked against the committed .sqlx folder.
FROM rust:1.95-bookworm AS build
WORKDIR /build
ENV SQLX_OFFLINE=true

# The dependencies alone, with empty sources, so that a change of ours does not compile them again. The manifest names
# the benchmarks, so their files have to be there.
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo
COPY benches benches
RUN mkdir src \
    && echo 'fn main() {}' > src/main.rs \
    && touch src/lib.rs \
    && cargo build --release --locked \
    && rm -r src

COPY . .
# Newer than the empty ones just compiled, whatever their times in the context are.
RUN touch src/main.rs src/lib.rs \
    && cargo build --release --locked

FROM debian:bookworm-slim
# A number, so that an orchestrator can verify that it is not root. No TLS roots are installed: the binary carries its own.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin mancala
COPY --from=build /build/target/release/mancala-server /usr/local/bin/mancala-server
USER 10001:10001
ENV MANCALA_LISTEN=0.0.0.0:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["mancala-server", "healthcheck"]
ENTRYPOINT ["mancala-server"]
CMD ["serve"]
