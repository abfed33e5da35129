# pipetune: the targets that people and continuous integration call. `make help` lists them.
# Scripts do the work; this file says in which order, and hands every compiler call the same settings.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

GO       ?= go
# PYTHON where it was given, else empty; a make that this one calls is handed both.
PYTHON_ASKED ?= $(if $(filter-out undefined file,$(origin PYTHON)),$(PYTHON))
PYTHON   ?= /usr/bin/python3
FUZZTIME ?= 30s
# TORCH=trixie or TORCH=sid runs the end-to-end jobs on that Debian suite's PyTorch, in a chroot.
TORCH    ?=

BUILD := $(CURDIR)/build
LIB   := $(BUILD)/lib
TOOLS := $(BUILD)/tools
CORPUS := $(BUILD)/corpus
# The interpreter with the newest PyTorch, unless PYTHON or TORCH was given.
NEWEST = $(if $(TORCH)$(PYTHON_ASKED),$(PYTHON),$$(scripts/python-env))

STATICCHECK_VERSION := v0.7.0
STATICCHECK         := $(TOOLS)/staticcheck-$(STATICCHECK_VERSION)

# libhdf5 with its companions and libjpeg-turbo come from $(LIB), which holds static archives only (docs/adr/0003).
# Lazy binding is said aloud because some distributions' gcc binds at start, which go-nvml cannot live with.
export CGO_ENABLED := 1
export CGO_CFLAGS  := -O2 -g -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -I/usr/include/hdf5/serial -Wno-deprecated-declarations
export CGO_LDFLAGS := -O2 -g '-L$(LIB)' -lturbojpeg -lhdf5_hl -lhdf5 -lsz -laec -lz -ldl -lm -Wl,--as-needed -Wl,-z,relro -Wl,-z,lazy
export PYTHON_ASKED PYTHON TORCH E2E_SUITE RELIABILITY_PAGE RELIABILITY_LONG RELIABILITY_QUICK RELIABILITY_MINUTES

# A build from a tag is that version; any other keeps the one in the source. Both say the commit.
GIT     := git -c safe.directory='*'
VERSION ?= $(shell $(GIT) describe --tags --exact-match 2>/dev/null | sed 's/^v//')
COMMIT  ?= $(shell $(GIT) describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null)
# Go's own build ID is left out: it is made of the folder that the libraries are found in, and the same source must give the same file anywhere.
CLI     := github.com/pipetune/pipetune/internal/cli
LDFLAGS := -s -w -buildid= $(if $(VERSION),-X $(CLI).version=$(VERSION)) $(if $(COMMIT),-X $(CLI).commit=$(COMMIT))

STAGE := scripts/stage
# Every build tag there is, for what reads all sources.
TAGS  := e2e,overhead,peers,calibrate,reliability,frameworks

LINK  := $(GO) build -buildvcs=false -trimpath -buildmode=pie -ldflags "$(LDFLAGS)"

.PHONY: build
build: ## bin/pipetune: one binary that needs libc and libm only
	@scripts/deps build
	@scripts/static-libs "$(LIB)"
	$(LINK) -o bin/pipetune ./cmd/pipetune

.PHONY: portable
portable: ## bin/pipetune-linux-amd64 and -arm64, for glibc 2.17 and newer, with HDF5 and the other libraries from source
	@scripts/deps build portable
	scripts/portable amd64 bin/pipetune-linux-amd64 $(LINK) -tags netgo
	scripts/portable arm64 bin/pipetune-linux-arm64 $(LINK) -tags netgo

.PHONY: man
man: ## bin/man: manual pages, to be read by man -M bin/man pipetune-diagnose
	@scripts/deps build
	@scripts/static-libs "$(LIB)"
	@rm -rf bin/man
	SOURCE_DATE_EPOCH="$$($(GIT) log -1 --format=%ct 2>/dev/null || date +%s)" $(GO) run ./scripts/man bin/man/man1

DIST := bin/dist
.PHONY: dist
dist: ## bin/dist: what is released, for amd64 and arm64: tar.gz, .deb, .rpm, wheel, OCI image, SBOM, SHA256SUMS
	@scripts/deps build portable dist
	@$(MAKE) portable
	@$(MAKE) man
	scripts/check-binary bin/pipetune-linux-$$($(GO) env GOHOSTARCH)
	PORTABLE=1 scripts/dist $(DIST) bin/man/man1 amd64=bin/pipetune-linux-amd64 arm64=bin/pipetune-linux-arm64

.PHONY: dist-test
dist-test: ## made twice with the same bytes, each file installed, run and removed; 11 minutes; writes docs/install.md
	@scripts/deps build portable dist places arm64
	@$(MAKE) dist
	scripts/check-dist $(DIST)
	scripts/dist-test --page docs/install.md $(DIST)

.PHONY: dist-trial
dist-trial: ## the short half of it: what this machine's bin/pipetune is packed into
	@scripts/deps build dist places
	@$(MAKE) build
	@$(MAKE) man
	scripts/dist-trial

.PHONY: sbom
sbom: ## bin/pipetune.cdx.json: what bin/pipetune is made of, Go modules and C libraries (CycloneDX)
	@$(MAKE) build
	@scripts/sbom-of bin/pipetune $(LINK) >bin/pipetune.cdx.json.partial
	@mv bin/pipetune.cdx.json.partial bin/pipetune.cdx.json

# What a release is held to. The trials S1 to S7 of make nightly hold more, and write it down.
.PHONY: release-check
release-check: ## a release's binary, its parts, no known weakness in them, and that anyone who builds it gets the same bytes
	@$(MAKE) sbom
	@scripts/check-binary bin/pipetune
	@scripts/check-modules
	@scripts/check-vulnerabilities bin/pipetune
	@scripts/check-reproducible
	@cd bin && sha256sum pipetune pipetune.cdx.json >SHA256SUMS && cat SHA256SUMS

.PHONY: demo
demo: ## a small real PyTorch job with a planted fault, diagnosed while it runs
	@scripts/deps build job
	@$(MAKE) build
	bin/pipetune demo

# The packages that start goroutines: their tests run under the race detector, which finds nothing in the others and is slow there.
# internal/archtest holds the list to the code.
RACED := ./internal/cli ./internal/demo ./internal/exporter ./internal/hook ./internal/isolate ./internal/isolate/hungmount ./internal/job ./internal/launch ./internal/openfiles ./internal/otlp ./internal/probe ./internal/python ./internal/sampler ./internal/saved ./internal/slurm ./internal/storage ./internal/top ./internal/watch

# Two stages at a time, in this order: of those that wait, for a network or a clock, one runs beside one that computes. Jobs that are watched live
# run last and alone. CONTRIBUTING.md says what runs where.
.PHONY: test
test: ## what every change is held to, in some 15 minutes: lint, unit tests, recordings, quick trials, five live jobs
	@$(STAGE) dependencies scripts/deps build
	@$(STAGE) "static libraries" scripts/static-libs "$(LIB)"
	@$(STAGE) "PyTorch and tools" scripts/deps build job tools newest page
	@$(MAKE) -j2 --output-sync=target test-newest test-build test-lint test-trials test-unit test-hook test-race
	@$(MAKE) test-live

.PHONY: test-newest test-build test-lint test-trials test-unit test-hook test-race test-live
test-newest:
	@$(STAGE) "newest PyTorch" scripts/python-env

test-build:
	@$(STAGE) build $(LINK) -o bin/pipetune ./cmd/pipetune

test-lint: test-build
	@$(STAGE) gofmt scripts/check-format
	@$(STAGE) "go vet" $(GO) vet -tags $(TAGS) ./...
	@$(STAGE) "binary check" scripts/check-binary bin/pipetune
	@$(STAGE) staticcheck $(MAKE) staticcheck

test-unit:
	@$(STAGE) "unit tests, recordings and fuzz seeds" $(GO) test -vet=off $$($(GO) list ./... | grep -vxF "$$($(GO) list $(RACED))")
	@$(STAGE) "Kubernetes manifests, GitHub workflows" $(MAKE) manifests workflows

test-race:
	@$(STAGE) "unit tests of what starts goroutines, with the race detector" $(GO) test -vet=off -race $(filter-out ./internal/hook,$(RACED))

test-hook: test-newest
	@$(STAGE) "the hook on the newest PyTorch, with the race detector" \
		env PYTHON="$$(scripts/python-env)" $(GO) test -vet=off -race -tags frameworks ./internal/hook/... -parallel 3 -count=1 -timeout 30m

test-trials: test-build
	@$(STAGE) "reliability suite, the quick trials" $(MAKE) trials RELIABILITY_QUICK=1

test-live:
	@$(STAGE) "jobs, attached and launched, live" $(MAKE) e2e-run E2E_SUITE='TestDeviceLibrary|TestJobs|TestLaunch$$$$' PYTHON="$(NEWEST)"
	@$(STAGE) "a job on an old PyTorch, attached, live" env E2E_JOBS='^workers_few$$' $(MAKE) e2e-run E2E_SUITE='TestJobs'
	@$(STAGE) "a loop on the stand-in GPU, live" env E2E_DEVICE='^spin-keeps-up$$' $(GO) test -vet=off -tags e2e ./internal/e2e -run '^TestDevice$$' -count=1 -v -timeout 30m

.PHONY: unit
unit: ## all unit tests, each with the race detector
	@scripts/deps build job page
	@scripts/static-libs "$(LIB)"
	$(GO) test -race -timeout 60m ./...

.PHONY: python-env
python-env: ## build/python-env: a virtual environment with the newest PyTorch and frameworks, for CPUs; 1 GB of downloads
	@scripts/deps build newest
	@scripts/python-env >/dev/null

# What the interpreter holds is no file that Go sees, and a kept result would stand for another PyTorch: -count=1.
.PHONY: hook-newest
hook-newest:
	PYTHON="$$(scripts/python-env)" $(GO) test -tags frameworks ./internal/hook/... -count=1 -timeout 30m

.PHONY: test-hook-newest
test-hook-newest: ## the hook's tests on the newest PyTorch, those of frameworks too
	@scripts/static-libs "$(LIB)"
	@$(MAKE) python-env
	@$(MAKE) hook-newest

.PHONY: e2e
e2e: ## all end-to-end jobs and datasets, and a real DataLoader beside bench-io, on the newest PyTorch; PYTHON=FILE or TORCH=SUITE for another
	@scripts/deps build job tools live newest $(if $(TORCH),suite)
	@$(MAKE) build
	@$(MAKE) e2e-run PYTHON="$(NEWEST)"

# Of each area one row, and those in which PyTorch 1 and 2 differ.
.PHONY: e2e-old
e2e-old: ## some of these jobs on Debian's PyTorch 1.13
	@scripts/deps build job tools live
	@$(MAKE) build
	E2E_JOBS='^(hdf5_reopened|workers_zero|cpu_no_workers|workers_few|storage_throttled|workers_restart|prefetch_thread|feeders_pool|gil_held|control_keeps_up)$$' \
		$(GO) test -vet=off -tags e2e ./internal/e2e -run '^TestJobs$$|^TestLaunch$$' -count=1 -v -timeout 2h

.PHONY: e2e-run
e2e-run:
	$(GO) test -vet=off -tags e2e ./internal/e2e -run '$(or $(E2E_SUITE),TestDataLoader|TestDeviceLibrary|TestGPUProof|TestLayouts|TestJobs|TestCases$$|TestLaunch$$|TestPatch|TestTop|TestMetrics)' -count=1 -v -timeout 5h

# Each in a module of its own, of which these files are none that Go watches: a kept result would stand for others.
.PHONY: manifests workflows
manifests: ## the manifests of docs/kubernetes against the types of Kubernetes
	cd scripts/manifests && CGO_ENABLED=0 $(GO) test -count=1 ./...
workflows: ## the workflows of .github and docs/ci by actionlint, their actions pinned
	cd scripts/workflows && CGO_ENABLED=0 $(GO) test -count=1 ./...

.PHONY: e2e-slurm
e2e-slurm: ## jobs on a real Slurm of three nodes that the test starts on this machine, watched by pipetune slurm and merged
	@scripts/deps build job slurm
	@$(MAKE) build
	$(GO) test -vet=off -tags e2e ./internal/e2e -run '^TestSlurm$$' -count=1 -v -timeout 30m

.PHONY: e2e-stacks
e2e-stacks: ## the frameworks that people train with, on the newest PyTorch; E2E_JOBS='regexp' selects
	@scripts/deps build job
	@$(MAKE) python-env
	@$(MAKE) build
	@$(MAKE) e2e-stacks-run

.PHONY: e2e-stacks-run
e2e-stacks-run:
	PYTHON="$$(scripts/python-env)" $(GO) test -tags e2e ./internal/e2e -run '^TestStacks$$' -count=1 -v -timeout 2h

.PHONY: e2e-others
e2e-others: ## loaders that are heavy to bring along (tf.data, Grain, DALI, Ray Train, ultralytics), and trackers; E2E_JOBS='regexp' selects; 0.7 GB more
	@$(MAKE) build
	@$(MAKE) e2e-others-run

.PHONY: e2e-others-run
e2e-others-run:
	python="$$(scripts/python-env others)" && E2E_OTHERS=1 PYTHON="$$python" $(GO) test -tags e2e ./internal/e2e -run '^TestStacks$$|^TestTrackers$$' -count=1 -v -timeout 2h

.PHONY: device
device: ## training loops on a stand-in GPU, attached and launched, against its own timeline; DEVICE='regexp' selects
	@scripts/deps build job
	@$(MAKE) build
	E2E_DEVICE='$(DEVICE)' $(GO) test -tags e2e ./internal/e2e -run '^TestDevice$$' -count=1 -v -timeout 2h

DRAWN ?= 19
SEED ?= 1
.PHONY: device-drawn
device-drawn: ## DRAWN loops on a stand-in GPU that nobody chose, their parts drawn by chance from SEED on
	@scripts/deps build job
	@$(MAKE) build
	E2E_DRAWN=$(DRAWN) E2E_SEED=$(SEED) $(GO) test -tags e2e ./internal/e2e -run '^TestDeviceDrawn$$' -count=1 -v -timeout 3h

# Each with the newest PyTorch that it has. That of python-env is 3.11, and TORCH=sid's is 3.14.
PYTHONS ?= 3.9 3.10 3.12 3.13
.PHONY: hook-pythons
hook-pythons: ## the hook's tests on each version of Python in PYTHONS, which must be on the PATH or pyenv's
	@scripts/static-libs "$(LIB)"
	@for version in $(PYTHONS); do python=$$(scripts/python-env $$version) && \
		PYTHON=$$python $(STAGE) "the hook's tests on Python $$version" $(GO) test ./internal/hook/... -count=1 -timeout 30m || exit; done

# OUT is the folder that results go to. Without Go the binary is brought along: this builds it only where it is missing.
OUT ?= gpu-proof
.PHONY: gpu-proof
gpu-proof: ## loops on a real GPU against what they note themselves, to OUT (gpu-proof); no Go; STAND_IN=1 for the stand-in
	@[[ -x bin/pipetune || -n "$$PIPETUNE_BIN" ]] || $(MAKE) build
	@STAND_IN='$(STAND_IN)' scripts/gpu-proof '$(OUT)'

# RELIABILITY is an expression over the ids of trials: RELIABILITY='F8|D3'.
RELIABILITY ?= .*
# RELIABILITY_CORPUS is the folder of others' files for D2 and D8-corpus; without it, that of `make corpus` where it is whole.
RELIABILITY_CORPUS ?=

.PHONY: corpus
corpus: ## build/corpus: HDF5 test files and test pictures of others, out of Debian's source archives, for D2 and D8-corpus
	@scripts/deps corpus
	@scripts/corpus "$(CORPUS)"

.PHONY: reliability
reliability: ## the short trials that it does no harm and survives everything; rows to docs/data/reliability.md
	@scripts/deps build job tools
	@$(MAKE) build
	@$(MAKE) trials RELIABILITY_PAGE=../../docs/data/reliability.md

# What is too long for every change: each of these is gone through, whatever fails before it, and the night fails with any.
# dist-test stands first: it makes the commit again, and those after it write pages.
NIGHTLY := dist-test unit night-trials e2e e2e-old e2e-slurm e2e-stacks e2e-others device device-drawn test-hook-newest hook-pythons calibrate prove prove-tune overhead

.PHONY: nightly
nightly: ## all live suites and the race detector over all, hours; rows to docs/data
	@$(MAKE) --keep-going night

.PHONY: night
night: $(NIGHTLY)

.PHONY: night-trials
night-trials:
	@scripts/deps build job tools
	@$(MAKE) build
	@$(MAKE) corpus || echo "make nightly: there is no corpus: D2 and D8-corpus are not run, their rows stay as they are" >&2
	@$(MAKE) trials RELIABILITY_LONG=1 RELIABILITY_PAGE=../../docs/data/reliability.md

.PHONY: size
size: ## lines of Go per package, the longest files, and lines over 120 columns
	@scripts/size

.PHONY: trials
trials:
	RELIABILITY_CORPUS='$(or $(RELIABILITY_CORPUS),$(if $(wildcard $(CORPUS)/SOURCES),$(CORPUS)))' $(GO) test -tags reliability ./internal/reliability \
		-run '^Test[^T]|^TestTrials$$/^($(RELIABILITY))$$' -count=1 -v -timeout 16h

.PHONY: overhead
overhead: ## what pipetune costs the job it watches or launches: CPU, memory, throughput with and without
	@scripts/deps build job tools
	@$(MAKE) build
	$(GO) test -tags e2e,overhead ./internal/e2e -run 'TestOverhead|TestLaunchOverhead|TestLaunchHookByTurns|TestLaunchLosesNothing' -count=1 -v -timeout 3h
	$(GO) test -tags overhead ./internal/hook -run TestHookCostsAStepLittle -count=1 -v

.PHONY: bench-peers
bench-peers: ## bench-io's own speed beside fio, h5py, libjpeg-turbo's tool, Pillow and find
	@scripts/deps build job tools peers
	@$(MAKE) build
	$(GO) test -tags peers ./internal/probe -run TestDirectReadsKeepUpWithFio -count=1 -v -timeout 20m
	$(GO) test -tags e2e,peers ./internal/e2e -run TestPeers -count=1 -v -timeout 40m

.PHONY: calibrate
calibrate: ## real DataLoaders with 122 settings, also on a stand-in GPU, against what is predicted of them; writes docs/calibration.md, 35 minutes
	@scripts/deps build job tools $(if $(TORCH),suite)
	@$(MAKE) build
	E2E_CALIBRATION=$(if $(TORCH),,../../docs/calibration.md) $(GO) test -tags e2e,calibrate ./internal/e2e -run TestCalibration -count=1 -v -timeout 120m

.PHONY: prove
prove: ## follows the plans of diagnosed jobs, runs them again, and searches for better settings; writes docs/calibration.md; 13 minutes
	@scripts/deps build job tools $(if $(TORCH),suite)
	@$(MAKE) build
	E2E_PROOF=$(if $(TORCH),,../../docs/calibration.md) $(GO) test -tags e2e,calibrate ./internal/e2e -run TestProve -count=1 -v -timeout 60m

.PHONY: prove-tune
prove-tune: ## tunes jobs and runs each with every setting of a grid; writes docs/tune.md; 50 minutes
	@scripts/deps build job tools
	@$(MAKE) build
	E2E_TUNED=../../docs/tune.md $(GO) test -tags e2e,calibrate ./internal/e2e -run '^TestTuned$$' -count=1 -v -timeout 120m

.PHONY: lint
lint: ## gofmt, go vet, staticcheck and the import rules
	@scripts/deps build
	@scripts/static-libs "$(LIB)"
	@scripts/check-format
	$(GO) vet -tags $(TAGS) ./...
	@$(MAKE) staticcheck
	$(GO) test ./internal/archtest

.PHONY: staticcheck
staticcheck: $(STATICCHECK)
	$(STATICCHECK) -tags $(TAGS) ./...

$(STATICCHECK):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) CGO_ENABLED=0 $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
	mv $(TOOLS)/staticcheck $@

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME each (30s)
	@scripts/deps build
	@scripts/static-libs "$(LIB)"
	scripts/fuzz $(FUZZTIME)

.PHONY: docs
docs: ## writes the generated pages under docs/rules anew
	@scripts/deps build
	@scripts/static-libs "$(LIB)"
	$(GO) test ./internal/rules -run '^TestPagesSayHowTheyAreTested$$' -update
	$(GO) test ./internal/rules -run '^TestPagesAreCurrent$$' -update

.PHONY: clean
clean: ## removes what was built here
	rm -rf bin build

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile
