# One static program in an empty image. The C library is linked in: this base
# has the compiler that SQLite needs, and an allocator that copes with load.
FROM golang:1.26-bookworm AS build
WORKDIR /src

# Every build below has the same flags, so that each can use what the one
# before it compiled.
ENV CGO_ENABLED=1 GOFLAGS="-trimpath -buildvcs=false -tags=netgo,osusergo,sqlite_omit_load_extension"

# From what changes least to what changes most: modules, the minute of C, weir.
COPY go.mod go.sum ./
RUN go mod download
RUN go build github.com/mattn/go-sqlite3
COPY . .

ARG VERSION=unknown
ARG COMMIT=unknown
RUN go build -ldflags "-s -w -linkmode external -extldflags -static -X main.version=${VERSION} -X main.commit=${COMMIT}" -o /out/weir . \
 && mkdir /out/data

# For hosts whose volumes belong to root, inside a machine of their own: see
# fly.toml. Built only when it is asked for by name.
FROM scratch AS root
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/weir /weir
ENV WEIR_DATABASE=/data/weir.db SQLITE_TMPDIR=/data
USER 0:0
STOPSIGNAL SIGTERM
ENTRYPOINT ["/weir"]
CMD ["serve"]

FROM scratch
ARG VERSION=unknown
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="weir" \
      org.opencontainers.image.description="Takes in a flood of webhooks and lets out a measured flow" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/weir /weir
# A named volume takes over this owner. A folder of the host does not: give it
# to 65532 before the first start.
COPY --from=build --chown=65532:65532 /out/data /data
# There is no /tmp here, and SQLite needs room for its temporary files.
ENV WEIR_DATABASE=/data/weir.db SQLITE_TMPDIR=/data
USER 65532:65532
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=3s --start-period=5s CMD ["/weir", "healthcheck"]
ENTRYPOINT ["/weir"]
CMD ["serve"]
