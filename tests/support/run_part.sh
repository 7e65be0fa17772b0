#!/bin/sh
# run_part.sh EXECUTABLE PART PARTS: runs each PARTS-th test case of an executable of Catch2 version 2, from the PART-th on.
set -eu
names=$(mktemp)
trap 'rm -f "$names"' EXIT
"$1" '~[.]' --list-test-names-only | awk -v part="$2" -v parts="$3" 'NR % parts == part % parts' |
  sed 's/[][\,"]/\\&/g' >"$names"
wanted=$(wc -l <"$names")
selected=$("$1" --list-test-names-only --input-file "$names" | wc -l)
if [ "$wanted" -eq 0 ] || [ "$selected" -ne "$wanted" ]; then
  echo "run_part.sh: $selected test cases are selected, not $wanted: Catch2 does not understand a name" >&2
  exit 1
fi
"$1" --input-file "$names"
