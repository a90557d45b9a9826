# mutant.sh LOCK CHECK : with that check alone, is the bug planted in LOCK found?
# shellcheck source=tests/guest/tell.sh
. /tell

# The kernel stops all CPUs once when it changes to this clock; with writers that
# hang it would wait for them for ever, and so would everybody else.
i=0
until grep -q tsc /sys/devices/system/clocksource/clocksource0/current_clocksource &&
	! grep -q early /sys/devices/system/clocksource/clocksource0/current_clocksource; do
	i=$((i + 1))
	[ $i -le 20 ] || { echo "no clocksource"; exit 6; }
	sleep 1
done

insmod /handover.ko torture_type="$1" nwriters_stress=4 checks="$2" duration=3 runs=3 \
	stall_secs=3 verbose=1 || exit 2
i=0
while grep -q '^state: running' $debug/status && [ $i -lt 40 ]; do
	sleep 1
	i=$((i + 1))
done
cat $debug/status $debug/results
case $2 in
owner) column=9 ;;
counter) column=10 ;;
order) column=11 ;;
progress) column=12 ;;
esac
caught=$(awk -F, -v column=$column 'NR > 1 && $column != 0' $debug/results | wc -l)
[ "$caught" -gt 0 ] || exit 3
if grep -q '^state: hung' $debug/status; then
	# The module must not go while a writer spins in it.
	rmmod handover && exit 4
	(echo torture_type=ticket >$debug/control) 2>/dev/null && exit 5
fi
exit 0
