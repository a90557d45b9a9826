# Sourced by the guest's jobs: how they tell what they found.
failed=0
verdicts=0
debug=/sys/kernel/debug/handover

# verdict NAME COMMAND... : ok if COMMAND succeeds; what it printed says why not.
verdict() {
	name=$1
	verdicts=$((verdicts + 1))
	shift
	if why=$("$@" 2>&1); then
		echo "ok $name"
	else
		echo "not ok $name: $(echo $why)"
		failed=1
	fi
}

# finish : the job's end. Who counts the lines then knows that it came to this.
finish() {
	echo "@@ verdicts $verdicts"
	exit $failed
}

# tell_file NAME FILE : it comes out (scripts/boot --out); and packed, as NAME.gz.b64, for a
# serial line is slow.
tell_file() { echo "@@ file $1"; cat "$2"; echo "@@ end"; }
tell_packed() { echo "@@ file $1.gz.b64"; gzip -c "$2" | base64; echo "@@ end"; }

# await STATE SECONDS : until status says so.
await() {
	i=0
	until grep -q "^state: $1" $debug/status; do
		i=$((i + 1))
		[ $i -le "$2" ] || { echo "not $1 after $2 s: $(head -n 1 $debug/status)"; return 1; }
		sleep 1
	done
}

# mark and since: what the kernel logged since the mark.
mark() { lines=$(dmesg | wc -l); }
since() { dmesg | tail -n +$((lines + 1)); }
