#!/bin/bash
# Runs in the init container flux-installer, whose image holds Flux below /opt/view: puts Flux and its configuration onto
# the volume at /mnt/flux, where the node container finds them. May run again on a volume that it has filled already.
set -euo pipefail

export PATH=/opt/view/bin:$PATH
config=/mnt/flux/config

mkdir -p "$config/etc/flux/system/cron.d" "$config/etc/flux/config" "$config/etc/curve" "$config/var/lib/flux" \
    "$config/run/flux"

printf '%s\n' '{{hosts}}' >"$config/etc/flux/system/hostlist"
cp /etc/flux-config/broker.toml "$config/etc/flux/config/broker.toml"
# Flux takes IPv4 unless it is told otherwise: flux-config-bootstrap(5). Below the titles, each route is a line.
if ! grep -qs '^[a-z]' /proc/net/route; then
    sed -i '/^\[bootstrap\]$/a enable_ipv6 = true' "$config/etc/flux/config/broker.toml"
fi

# /opt/view is a link to the only directory here, and what is in it has links to /opt/software: both have to come along.
views=(/opt/views/._view/*/)
if [ "${#views[@]}" -ne 1 ] || [ ! -d "${views[0]}" ]; then
    echo "init.sh: there must be exactly one directory in /opt/views/._view of this image" >&2
    exit 1
fi
# A second time, files and folders that are only to be read are in the way: root without capabilities cannot write them.
for copied in /mnt/flux/view /mnt/flux/software; do
    if [ -d "$copied" ]; then chmod -R u+w "$copied"; fi
done
mkdir -p /mnt/flux/view
cp -R "${views[0]}." /mnt/flux/view/
cp -R /opt/software /mnt/flux/

touch /mnt/flux/flux-operator-done.txt
