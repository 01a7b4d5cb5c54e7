module github.com/docker-hostexec/hostexec

go 1.26.0

// What the program needs.
require (
	al.essio.dev/pkg/shellescape v1.6.1 // quotes commands for a shell
	github.com/aymanbagabas/go-udiff v0.4.1 // shows how files differ from the approved ones
	github.com/containerd/console v1.0.5 // pseudo-terminals of the host
	github.com/containerd/errdefs v1.0.0 // distinguishes the engine's errors
	github.com/docker/cli v28.5.2+incompatible // docker run itself, and the code that plugins share with docker
	github.com/docker/docker v28.5.2+incompatible // the engine's client, as in docker/cli
	github.com/docker/go-units v0.5.0 // sizes and ages as docker prints them
	github.com/fsnotify/fsnotify v1.9.0 // reports the end of a shell's command, and new sessions
	github.com/gofrs/flock v0.13.1 // one watcher for each session
	github.com/klauspost/compress v1.18.7 // the shims are embedded compressed
	github.com/moby/sys/atomicwriter v0.1.0 // replaces a file in one step, synced
	github.com/moby/sys/mountinfo v0.7.2 // parses mount tables
	github.com/opencontainers/image-spec v1.1.1 // a type in the engine client's ContainerCreate
	github.com/spf13/cobra v1.10.2 // the command line, as in docker/cli
	github.com/spf13/pflag v1.0.10 // the flags of docker/cli's commands
	go.opentelemetry.io/otel v1.43.0 // silences the telemetry that docker/cli links
	go.yaml.in/yaml/v3 v3.0.6 // config.yaml: its nodes know their lines and keep their comments
	golang.org/x/sys v0.48.0 // openat2, pidfd, close_range, waitid and other system calls
)

// What the tests need.
require (
	github.com/chromedp/cdproto v0.159.0 // the browser protocol of chromedp
	github.com/chromedp/chromedp v0.22.1 // tests of the page in a browser
	github.com/creack/pty v1.1.24 // terminals for tests
	github.com/gorilla/mux v1.8.1 // the engine's router
	github.com/rogpeppe/go-internal v1.16.0 // testscript: commands that a user types, as a script
)

// The versions with which docker/cli v28.5.2 builds: it has no go.mod, and does not build with the newest (go-archive
// must stay v0.1.0). They are those of its vendor.mod, with security fixes.
require (
	github.com/Azure/go-ansiterm v0.0.0-20250102033503-faa5f7b0171c // indirect
	github.com/Microsoft/go-winio v0.6.2 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/cloudflare/cfssl v1.6.4 // indirect
	github.com/containerd/errdefs/pkg v0.3.0 // indirect
	github.com/containerd/log v0.1.0 // indirect
	github.com/containerd/platforms v1.0.0-rc.1 // indirect
	github.com/distribution/reference v0.6.0 // indirect
	github.com/docker/cli-docs-tool v0.10.0 // indirect
	github.com/docker/distribution v2.8.3+incompatible // indirect
	github.com/docker/docker-credential-helpers v0.9.8 // indirect
	github.com/docker/go v1.5.1-1.0.20160303222718-d30aec9fd63c // indirect
	github.com/docker/go-connections v0.8.0 // indirect
	github.com/docker/go-metrics v0.0.1 // indirect
	github.com/felixge/httpsnoop v1.0.4 // indirect
	github.com/fvbommel/sortorder v1.1.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.26.1 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/miekg/pkcs11 v1.1.1 // indirect
	github.com/moby/docker-image-spec v1.3.1 // indirect
	github.com/moby/go-archive v0.1.0 // indirect
	github.com/moby/patternmatcher v0.6.0 // indirect
	github.com/moby/sys/capability v0.4.0 // indirect
	github.com/moby/sys/sequential v0.6.0 // indirect
	github.com/moby/sys/signal v0.7.1 // indirect
	github.com/moby/sys/symlink v0.3.0 // indirect
	github.com/moby/sys/user v0.4.0 // indirect
	github.com/moby/sys/userns v0.1.0 // indirect
	github.com/moby/term v0.5.2 // indirect
	github.com/morikuni/aec v1.0.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/prometheus/client_golang v1.22.0 // indirect
	github.com/prometheus/client_model v0.6.1 // indirect
	github.com/prometheus/common v0.62.0 // indirect
	github.com/prometheus/procfs v0.15.1 // indirect
	github.com/rivo/uniseg v0.2.0 // indirect
	github.com/sirupsen/logrus v1.10.1 // indirect
	github.com/theupdateframework/notary v0.7.1-0.20210315103452-bf96a202a09a // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp v0.60.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc v1.35.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.35.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.35.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp v1.35.0 // indirect
	go.opentelemetry.io/otel/metric v1.43.0 // indirect
	go.opentelemetry.io/otel/sdk v1.43.0 // indirect
	go.opentelemetry.io/otel/sdk/metric v1.43.0 // indirect
	go.opentelemetry.io/otel/trace v1.43.0 // indirect
	go.opentelemetry.io/proto/otlp v1.5.0 // indirect
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.57.0 // bpf: the sandbox's filter of system calls
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/term v0.45.0 // indirect
	golang.org/x/text v0.40.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	golang.org/x/tools v0.47.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260414002931-afd174a4e478 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260414002931-afd174a4e478 // indirect
	google.golang.org/grpc v1.82.1 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
	k8s.io/klog/v2 v2.90.1 // indirect
	tags.cncf.io/container-device-interface v0.8.0 // indirect
)

// What the tools need.
require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	github.com/bitfield/gotestdox v0.2.2 // indirect
	github.com/dnephin/pflag v1.0.7 // indirect
	github.com/fatih/color v1.18.0 // indirect
	github.com/google/shlex v0.0.0-20191202100458-e7afc7fbc510 // indirect
	github.com/mattn/go-colorable v0.1.13 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.37.0 // indirect
	golang.org/x/telemetry v0.0.0-20260625142307-59b4966ccb57 // indirect
	gotest.tools/gotestsum v1.13.0 // indirect
	honnef.co/go/tools v0.7.0 // indirect
)

require github.com/landlock-lsm/go-landlock v0.11.0 // landlock/syscall: the system calls of Landlock, for one thread

require kernel.org/pub/linux/libs/security/libcap/psx v1.2.77 // indirect

// The tools of make check.
tool (
	golang.org/x/tools/cmd/deadcode // finds functions that nothing calls
	gotest.tools/gotestsum // runs a failed integration test again, alone
	honnef.co/go/tools/cmd/staticcheck // finds mistakes that vet does not find
)
