#!/bin/sh
# The steps of the image, one by one or all. The Dockerfile runs them, and test/deploy runs them where there is no builder.
#   build.sh install         what package-lock.json names, into node_modules
#   build.sh compile         the addon and dist/. With ADDON=FILE, that addon is taken and no Rust is needed
#   build.sh layout FOLDER   what the program needs to run, and no more, into an empty folder
set -eu
cd "$(dirname "$0")/../.."

case "${1:-}" in
  install)
    npm ci --no-audit --no-fund
    ;;
  compile)
    if [ -n "${ADDON:-}" ]; then cp "$ADDON" native/; else npm run -s build:native; fi
    npm run -s build:ts
    npm run -s --if-present build:web
    ;;
  layout)
    node deploy/docker/layout.ts "${2:?layout needs a folder}"
    ;;
  *)
    echo "usage: build.sh install|compile|layout FOLDER" >&2
    exit 2
    ;;
esac
