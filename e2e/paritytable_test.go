// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

// parityRow is one way to type docker run. In flags and args these stand for what each
// of the two runs has of its own, or both have in common:
//
//	{NAME} the container's name      {DIR}  a host directory with a few files
//	{PEER} a container that is there {NET}  a network with a subnet
//	{DISK} a disk of this host       {ARCH} the engine's architecture
//	{IMAGE} the busybox image        {REG}  a registry, which has any image but none
//	{IP} an address in {NET}         {_}    a space
type parityRow struct {
	flags  string
	script string   // what sh does in {IMAGE} ...
	args   []string // ... or all that follows the flags
	stdin  string
	tty    bool // run in a terminal
	code   int  // whatever docker run says: either
}

// either is the code of a row whose flag not every engine and kernel has: refused or
// not, it has to be the same.
const either = -1

// parityExceptions are the flags of docker run that no row has, and why.
var parityExceptions = map[string]string{
	"help": "its text names the command; TestIntegrationParityOfHelp compares the flags in it",
}

// parityRows are long on purpose: each flag of docker run is in at least one.
var parityRows = []parityRow{
	// What comes out, and how it ends.
	{script: "echo out; echo err >&2; exit 3", code: 3},
	{flags: "--rm", script: "echo out; echo err >&2"},
	{flags: "--rm", args: []string{"{IMAGE}", "echo", "-e", "a", "--proxy", "b", "--rm"}},
	{flags: "--rm", args: []string{"{IMAGE}", "/no/such/program"}, code: 127},
	{flags: "--rm", args: []string{"{IMAGE}", "nosuchprogram"}, code: 127},
	{flags: "--rm", args: []string{"{IMAGE}", "/etc/passwd"}, code: 126},
	{flags: "--init", script: "kill -KILL $$", code: 137},
	{flags: "--init --rm", script: "cat /proc/1/comm; exit 200", code: 200},
	{flags: "-d", script: "echo out; echo err >&2; exit 4"},
	{flags: "-d --sig-proxy=false --detach-keys ctrl-x", script: "echo out"},
	{flags: "--detach-keys nonsense", script: "echo out", code: either},
	{flags: "-i", script: "cat; echo end", stdin: "one\ntwo\n"},
	{flags: "-i -a stdin -a stdout", script: "cat; echo err >&2", stdin: "one\n"},
	{flags: "-a stdout", script: "echo out; echo err >&2; exit 5", code: 5},
	{flags: "-a stderr", script: "echo out; echo err >&2; exit 6", code: 6},
	{flags: "-a nonsense", script: "echo out", code: 125},
	{flags: "-d -a stdout", script: "echo out", code: either},
	{flags: "-t", script: "tty; echo out; echo err >&2; exit 7", code: 7},
	{flags: "-it", script: "echo out", code: 1},
	{flags: "-it", script: "tty; exit 8", tty: true, code: 8},
	{flags: "-t --rm", script: "echo out; exit 9", tty: true, code: 9},

	// What docker run itself refuses.
	{args: []string{}, code: either},
	{flags: "--nonsense", script: "echo out", code: 125},
	{flags: "--memory nonsense", script: "echo out", code: 125},
	{flags: "--memory 1k", script: "echo out", code: 125},
	{flags: "--rm --restart always", script: "echo out", code: 125},
	{flags: "--name {PEER}", script: "echo out", code: 125},
	{flags: "--name no/name", script: "echo out", code: 125},
	{args: []string{"UPPER/case"}, code: 125},
	{flags: "--pull sometimes", script: "echo out", code: 125},
	{flags: "--annotation a=b", script: "echo out", code: either},

	// Names, labels, environment.
	{flags: "-h box --domainname example.test --cidfile {DIR}/cid -l a=b --label c --label-file {DIR}/labels",
		script: "hostname; hostname -f"},
	{flags: "--dns 192.0.2.1 --dns-option ndots:3 --dns-search example.test --add-host db:192.0.2.7",
		script: "cat /etc/resolv.conf && grep 192.0.2.7 /etc/hosts"},
	{flags: "--cidfile {DIR}/note", script: "echo out", code: either},
	{flags: "-e A=1 -e HOST_SECRET -e NOT_SET --env-file {DIR}/env", script: "env | sort"},
	{flags: "-e PATH=/bin", script: "echo PATH=$PATH"},
	{flags: "-e PATH", script: "echo PATH=$PATH"},
	{flags: "--env-file {DIR}/none", script: "echo out", code: 125},

	// Who, where, what.
	{flags: "-u 1000:1000 --group-add 4242", script: "id -u; id -g; id -G"},
	{flags: "-u nobodyknows", script: "echo out", code: either},
	{flags: "-w /tmp/new/dir", script: "pwd"},
	{flags: "-w relative", script: "pwd", code: either},
	{flags: "--entrypoint echo", args: []string{"{IMAGE}", "a", "b"}},
	{flags: "--entrypoint=", args: []string{"{IMAGE}", "sh", "-c", "echo a"}},
	{flags: "--entrypoint=", args: []string{"{IMAGE}"}, code: either},
	{args: []string{"{IMAGE}"}},
	{flags: "--read-only", script: "touch /x; touch /tmp/x; echo done"},
	{flags: "--privileged", script: "grep CapEff /proc/self/status", code: either},
	{flags: "--cap-add NET_ADMIN --cap-drop MKNOD", script: "grep CapEff /proc/self/status"},
	{flags: "--cap-drop ALL --security-opt no-new-privileges", script: "grep -E 'CapEff|NoNewPrivs' /proc/self/status"},
	{flags: "--security-opt seccomp=unconfined", script: "grep Seccomp: /proc/self/status"},
	{flags: "--security-opt nonsense", script: "echo out", code: 125},
	{flags: "--userns host --uts host --pid host --ipc host --network host", script: "hostname && cat /proc/1/comm"},
	{flags: "--pid container:{PEER} --ipc container:{PEER} --network container:{PEER}", script: "hostname && cat /proc/1/comm"},
	{flags: "--ipc none", script: "ls /dev/shm", code: either},
	{flags: "--cgroupns host", script: "echo out", code: either},
	{flags: "--cgroupns private", script: "echo out", code: either},
	{flags: "--cgroup-parent /docker", script: "echo out", code: either},
	{flags: "--isolation default", script: "echo out", code: either},
	{flags: "--isolation hyperv", script: "echo out", code: either},
	{flags: "--runtime runc", script: "echo out", code: either},
	{flags: "--runtime nonsense", script: "echo out", code: 125},
	{flags: "--gpus all", script: "echo out", code: either},
	{flags: "--use-api-socket", script: "ls /var/run/docker.sock", code: either},
	{flags: "--disable-content-trust --platform linux/{ARCH} --pull missing", script: "echo out"},

	// How it is watched and stopped.
	{flags: "--restart no", script: "exit 3", code: 3},
	{flags: "--restart on-failure:1", script: "echo out; exit 3", code: either},
	{flags: "--restart nonsense", script: "echo out", code: 125},
	{flags: "--stop-signal USR1 --stop-timeout 2", script: "echo out"},
	{flags: "--health-cmd exit{_}0 --health-interval 1s --health-retries 2 --health-start-period 3s --health-timeout 4s", script: "echo out"},
	{flags: "--no-healthcheck", script: "echo out"},
	{flags: "--no-healthcheck --health-cmd x", script: "echo out", code: 125},
	{flags: "--log-driver none", script: "echo out"},
	{flags: "-d --log-driver json-file --log-opt max-size=1m --log-opt labels=a", script: "echo out"},
	{flags: "--log-driver nonsense", script: "echo out", code: 125},

	// Limits.
	{flags: "-m 64m --memory-swappiness 10", script: "echo out", code: either},
	{flags: "-m 64m --oom-kill-disable", script: "echo out", code: either},
	{flags: "--kernel-memory 64m", script: "echo out", code: either},
	{flags: "-m 64m --memory-reservation 32m --memory-swap 128m --pids-limit 50 --cpu-period 50000 --cpu-quota 25000", script: "echo out"},
	{flags: "--oom-score-adj 500 --ulimit nofile=64:128 --shm-size 1m --sysctl net.ipv4.ip_default_ttl=42",
		script: "set -e; cat /proc/self/oom_score_adj /proc/sys/net/ipv4/ip_default_ttl; ulimit -n; ulimit -Hn; df /dev/shm | tail -1 | grep -o ' 1024 '"},
	{flags: "-c 512 --cpus 0.5", script: "echo out"},
	{flags: "--cpu-rt-period 1000000 --cpu-rt-runtime 950000", script: "echo out", code: either},
	{flags: "--cpuset-cpus 0 --cpuset-mems 0", script: "grep Cpus_allowed_list /proc/self/status", code: either},
	{flags: "--cpuset-cpus 4000", script: "echo out", code: 125},
	{flags: "--blkio-weight 100", script: "echo out", code: either},
	{flags: "--blkio-weight-device {DISK}:100", script: "echo out", code: either},
	{flags: "--device-read-bps {DISK}:1mb --device-write-bps {DISK}:1mb", script: "echo out", code: either},
	{flags: "--device-read-iops {DISK}:100 --device-write-iops {DISK}:100", script: "echo out", code: either},
	{flags: "--sysctl kernel.nonsense=1", script: "echo out", code: either},

	// Files and devices.
	{flags: "-v {DIR}:/w -w /w", script: "cat note; echo made >new"},
	{flags: "-v {DIR}:/w:ro", script: "cat /w/note; touch /w/new", code: 1},
	{flags: "-v /x --volume-driver nonsense", script: "echo out", code: 125},
	{flags: "-v relative/dir:/w", script: "echo out", code: 125},
	{flags: "--mount type=bind,source={DIR},target=/w,readonly", script: "cat /w/note; touch /w/new", code: 1},
	{flags: "--mount type=tmpfs,target=/t,tmpfs-size=1m --mount type=volume,target=/v -v /anonymous --volume-driver local --volumes-from {PEER}",
		script: "touch /t/x /v/x /anonymous/x && cat /lent/note"},
	{flags: "--tmpfs /t:size=1m --tmpfs /run --device /dev/null:/dev/nil --device-cgroup-rule c{_}42:*{_}rmw",
		script: "set -e; touch /t/x; df /t | tail -1 | grep -o ' 1024 '; echo x >/dev/nil"},
	{flags: "--mount type=bind,source=/no/such/dir,target=/w", script: "echo out", code: 125},
	{flags: "--mount type=nonsense", script: "echo out", code: 125},
	{flags: "--volumes-from nosuchcontainer", script: "echo out", code: 125},
	{flags: "--device /dev/nonsense", script: "echo out", code: either},
	{flags: "--storage-opt size=1G", script: "echo out", code: either},

	// Networks.
	{flags: "--network none", script: "ls /sys/class/net"},
	{flags: "--network {NET} --network-alias other --ip {IP}", script: "ip -4 -o addr show dev eth0 | grep -c 198.18."},
	{flags: "--network {NET} --link-local-ip 169.254.8.8", script: "echo out", code: either},
	{flags: "--network {NET} --ip6 2001:db8::33", script: "echo out", code: either},
	{flags: "--network nosuchnetwork", script: "echo out", code: 125},
	{flags: "--link {PEER}:other", script: "grep -c other /etc/hosts; env | grep OTHER_NAME"},
	{flags: "--link nosuchcontainer", script: "echo out", code: 125},
	{flags: "--mac-address 02:42:ac:11:00:99", script: "cat /sys/class/net/eth0/address", code: either},
	{flags: "-p 127.0.0.1::80 --expose 81", script: "echo out"},
	{flags: "-P --expose 82", script: "echo out"},
	{flags: "-p nonsense", script: "echo out", code: 125},

	// Images that are not there yet.
	{args: []string{"{REG}/first", "echo", "out"}},
	{flags: "-q", args: []string{"{REG}/quiet", "echo", "out"}},
	{flags: "--pull always", args: []string{"{REG}/always", "echo", "out"}},
	{flags: "--pull always -q -d", args: []string{"{REG}/both", "echo", "out"}},
	{flags: "--platform linux/{ARCH} -q", args: []string{"{REG}/platform", "echo", "out"}},
	{flags: "--pull never", args: []string{"{REG}/never", "echo", "out"}, code: 125},
	{args: []string{"{REG}/none", "echo", "out"}, code: 125},
}
