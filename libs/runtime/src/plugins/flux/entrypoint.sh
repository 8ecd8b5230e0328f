#!/bin/bash
# Runs in the node container of every node: starts a Flux broker, and on the first node, in all of Flux's nodes, the
# TrainJob's program. The program and its arguments are this script's arguments; they are passed on one by one, as they
# are. Ends as the program ends. Container restarts run it again, so whatever it writes may be there already.
set -euo pipefail

view=/mnt/flux/view
config=/mnt/flux/config
system=$config/etc/flux/system

# At the end, so that the image's own programs are not hidden by those of the view.
export PATH=$PATH:$view/bin
if [ -d /mnt/flux/software ]; then
    mkdir -p /opt/software
    # A second time, as in init.sh.
    for copied in /opt/software/*; do
        if [ -O "$copied" ]; then chmod -R u+w "$copied"; fi
    done
    cp -R /mnt/flux/software/. /opt/software/
fi

# Flux's own Python: the links of the view lead to where it was installed.
for library in "$view"/lib/python3*/; do
    [ -d "$library" ] || continue
    version=$(basename "$library")
    if [ -f "$view/bin/$version" ]; then
        ln -sfn "$version" "$view/bin/python3"
        ln -sfn "$version" "$view/bin/python"
    fi
    export PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}${library}site-packages
    break
done
export FLUX_RC_EXTRA=$view/etc/flux/rc1.d

# For people who look inside: . /mnt/flux/flux-view.sh
cat >/mnt/flux/load-fluxion.sh <<'END'
flux module remove sched-simple
flux module load sched-fluxion-resource
flux module load sched-fluxion-qmanager
END
{
    printf 'export PATH=%q\n' "$PATH"
    printf 'export PYTHONPATH=%q\n' "${PYTHONPATH:-}"
    printf 'export LD_LIBRARY_PATH=%q\n' "${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$view/lib"
    printf 'export fluxsocket=%q\n' "local://$config/run/flux/local"
} >/mnt/flux/flux-view.sh

# Flux refuses a certificate that others can read or own, and a Secret's files are links that belong to root.
certificate=$config/etc/curve/curve.cert
rm -f "$certificate"
cp /curve/curve.cert "$certificate"
chmod go-r "$certificate"
chown "$(id -u)" "$certificate"

flux R encode --hosts='{{hosts}}' --cores='{{cores}}' {{gpus}}>"$system/R.new"
mv "$system/R.new" "$system/R"

state=$config/var/lib/flux
export FLUX_OUTPUT_DIR=/tmp/fluxout
mkdir -p "$state" "$FLUX_OUTPUT_DIR" "$system/cron.d" "$config/run/flux"

broker=(
    --config-path="$config/etc/flux/config"
    -Scron.directory="$system/cron.d"
    -Stbon.fanout=256
    -Srundir="$config/run/flux"
    -Slocal-uri="local://$config/run/flux/local"
    -Sstatedir="$state"
    -Slog-stderr-level=0
    -Slog-stderr-mode=local
)
start=()
for option in "${broker[@]}"; do start+=(-o "$option"); done

status=0
if [ "$HOSTNAME" != '{{lead}}' ]; then
    # The first node may not be there yet, or start again. How its program ended is not for this node to tell.
    until flux start "${start[@]}"; do
        echo "entrypoint.sh: the broker ended with status $?; the next one starts in 15 seconds" >&2
        sleep 15
    done
elif [ $# -eq 0 ]; then
    flux broker "${broker[@]}" || status=$?
else
    flux start "${start[@]}" flux run -N '{{nodes}}' -n '{{tasks}}' {{gpus_per_task}}"$@" || status=$?
fi
touch /mnt/flux/flux-operator-complete.txt
exit "$status"
