#!/bin/bash
# trigger.sh HOST PORT COUNT [KEYFILE]: offers triggers to a farm and prints each answer (docs/triggers.md).
set -eu
host=$1 port=$2 count=$3 keyfile=${4:-}
session=$(date +%s%N)
exec 3<>"/dev/tcp/$host/$port"
if [ -n "$keyfile" ]; then
  key=$(awk '$1 == "key" { print $3; exit }' "$keyfile")
  echo hello >&3
  read -r answer <&3
  challenge=${answer##*challenge=}
fi
for ((n = 1; n <= count; n++)); do
  line="trigger client=shell session=$session n=$n"
  if [ -n "$keyfile" ]; then
    line+=" mac=$(printf %s "$challenge $line" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -r | cut -d' ' -f1)"
  fi
  echo "$line" >&3
  read -r word value rest <&3
  echo "$word $value"
done
