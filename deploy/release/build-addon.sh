#!/bin/sh
# Builds the addon of one platform and loads it once, where it can be loaded.
#   build-addon.sh here TARGET PLATFORM              with the Rust of this machine
#   build-addon.sh container IMAGE TARGET PLATFORM   in an image of Rust, with docker
set -eu
cd "$(dirname "$0")/../.."

load() {
  node --input-type=module -e 'const { native } = await import("./native/index.js"); console.log(Object.keys(native).length, "names")'
}

case "${1:-}" in
  here)
    node native/build.mjs --target "$2" --platform "$3"
    # What is built for another processor cannot be loaded here.
    case "$3-$(uname -sm)" in
      darwin-x64-"Darwin arm64") ;;
      *) load ;;
    esac
    ;;
  container)
    # Node comes along with glibc, and from the distribution with musl, where ours does not run.
    node="$(dirname "$(dirname "$(command -v node)")")"
    docker run --rm -v "$PWD:/src" -v "$node:/node:ro" -w /src -e CARGO_TARGET_DIR=/tmp/target "$2" sh -eu -c '
      if command -v apk >/dev/null; then
        apk add --no-cache nodejs build-base
        # A library that others load cannot bring its own C library.
        export RUSTFLAGS="-C target-feature=-crt-static"
      else
        export PATH="/node/bin:$PATH"
      fi
      deploy/release/build-addon.sh here "$1" "$2"
    ' sh "$3" "$4"
    ;;
  *)
    echo "usage: build-addon.sh here TARGET PLATFORM | container IMAGE TARGET PLATFORM" >&2
    exit 2
    ;;
esac
