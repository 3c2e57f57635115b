#!/usr/bin/env bash
# Publishes the tarballs of a folder: addons of platforms, then what loads them, then the rest. One that is there already is left
# alone, so that a release that broke off can go on. With DRY_RUN=1 it only says what it would do.
#   publish-npm.sh FOLDER VERSION
set -euo pipefail
folder="$1" version="$2"

name_of() {
  tar -xOzf "$1" package/package.json | node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).name'
}

publish() {
  local tarball="$1" name
  name="$(name_of "$tarball")"
  if [ "${DRY_RUN:-0}" = 1 ]; then
    echo "$name"
  elif [ "$(npm view "$name@$version" version 2>/dev/null)" = "$version" ]; then
    echo "$name@$version is there already"
  else
    npm publish "$tarball" --provenance --access public
  fi
}

shopt -s nullglob
platforms=("$folder"/chain-query-native-[a-z]*-"$version".tgz)
loader=("$folder"/chain-query-native-"$version".tgz)
rest=()
for tarball in "$folder"/*.tgz; do
  case "$tarball" in "$folder"/chain-query-native-*) ;; *) rest+=("$tarball") ;; esac
done
[ "${#platforms[@]}" = 7 ] || { echo "there are addons for ${#platforms[@]} platforms, not 7" >&2; exit 1; }
[ "${#loader[@]}" = 1 ] || { echo "the package that loads the addon is missing" >&2; exit 1; }
for tarball in "${platforms[@]}" "${loader[@]}" "${rest[@]}"; do publish "$tarball"; done
