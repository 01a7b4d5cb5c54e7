// SPDX-License-Identifier: Apache-2.0

package git

import (
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// harmless lists the configuration keys that name neither a program nor a file, whatever their
// value. A star matches any subsection, and "section.**" a whole section. Other keys cause a
// question; this includes new keys of later git versions.
var harmless = names.LowerWordSet(`
	add.ignore-errors add.ignoreErrors add.interactive.useBuiltin advice.** am.keepcr am.messageid am.threeWay apply.ignoreWhitespace apply.whitespace attr.tree
	bitmapPseudoMerge.*.decay bitmapPseudoMerge.*.maxMerges bitmapPseudoMerge.*.pattern bitmapPseudoMerge.*.sampleRate
	bitmapPseudoMerge.*.stableSize bitmapPseudoMerge.*.stableThreshold bitmapPseudoMerge.*.threshold
	author.email author.name committer.email committer.name
	user.email user.name user.signingKey user.useConfigOnly
	blame.blankBoundary blame.coloring blame.date blame.markIgnoredLines blame.markUnblamableLines blame.showEmail blame.showRoot
	branch.autoSetupMerge branch.autoSetupRebase branch.sort
	branch.*.deleteMerged branch.*.description branch.*.merge branch.*.rebase
	checkout.defaultRemote checkout.guess checkout.thresholdForParallelism checkout.workers
	clean.requireForce clone.defaultRemoteName clone.filterSubmodules clone.rejectShallow
	color.** column.** commit.cleanup commit.gpgSign commit.status commit.verbose
	commitGraph.changedPaths commitGraph.changedPathsVersion commitGraph.generationVersion commitGraph.maxNewFilters commitGraph.readChangedPaths
	core.abbrev core.autocrlf core.bare core.configLockTimeout core.lockfilePid core.bigFileThreshold core.checkRoundtripEncoding core.checkStat core.commentChar
	core.commentString core.commitGraph core.compression core.createObject core.deltaBaseCacheLimit core.eol core.fileMode
	core.filesRefLockTimeout core.fsmonitorHookVersion core.fsync core.fsyncMethod core.fsyncObjectFiles core.hideDotFiles
	core.ignoreCase core.ignoreStat core.logAllRefUpdates core.longPaths core.looseCompression core.maxTreeDepth core.multiPackIndex
	core.notesRef core.packedGitLimit core.packedGitWindowSize core.packedRefsTimeout core.precomposeUnicode core.preferSymlinkRefs
	core.preloadIndex core.protectHFS core.protectNTFS core.quotePath core.repositoryFormatVersion core.restrictInheritedHandles
	core.safecrlf core.sharedRepository core.sparseCheckout core.sparseCheckoutCone core.splitIndex core.symlinks core.trustctime
	core.unsetenvvars core.untrackedCache core.useReplaceRefs core.warnAmbiguousRefs core.whitespace
	credential.interactive credential.protectProtocol credential.sanitizePrompt credential.useHttpPath credential.username credential.*.useHttpPath credential.*.username
	diff.*.algorithm diff.*.binary diff.*.cachetextconv diff.*.trustExitCode diff.*.wordRegex diff.*.xfuncname
	diff.algorithm diff.autoRefreshIndex diff.colorMoved diff.colorMovedWS diff.context diff.dirstat diff.ignoreSubmodules
	diff.indentHeuristic diff.interHunkContext diff.mnemonicPrefix diff.noprefix diff.dstPrefix diff.srcPrefix diff.relative
	diff.renameLimit diff.renames diff.statGraphWidth diff.statNameWidth diff.submodule diff.suppressBlankEmpty diff.trustExitCode
	diff.wordRegex diff.wsErrorHighlight
	extensions.compatObjectFormat extensions.noop extensions.objectFormat extensions.preciousObjects
	extensions.relativeWorktrees extensions.worktreeConfig
	feature.experimental feature.manyFiles fetch.all fetch.followRemoteHEAD fetch.fsckObjects fetch.negotiationAlgorithm fetch.output fetch.parallel
	fetch.prune fetch.pruneTags fetch.recurseSubmodules fetch.showForcedUpdates fetch.unpackLimit fetch.writeCommitGraph
	format.attach format.coverFromDescription format.coverLetter format.encodeEmailHeaders format.filenameMaxLength
	format.forceInBodyFrom format.from format.mboxrd format.noprefix format.notes format.numbered format.signOff format.subjectPrefix
	format.suffix format.thread format.useAutoBase
	gc.*.reflogExpire gc.*.reflogExpireUnreachable gc.aggressiveDepth gc.aggressiveWindow gc.auto gc.autoDetach gc.autoPackLimit
	gc.bigPackThreshold gc.cruftPacks gc.logExpiry gc.maxCruftSize gc.packRefs gc.pruneExpire gc.reflogExpire gc.repackFilter
	gc.reflogExpireUnreachable gc.rerereResolved gc.rerereUnresolved gc.worktreePruneExpire gc.writeCommitGraph
	gitflow.branch.develop gitflow.branch.main gitflow.branch.master
	gitflow.prefix.bugfix gitflow.prefix.feature gitflow.prefix.hotfix gitflow.prefix.release gitflow.prefix.support gitflow.prefix.versiontag
	gpg.format gpg.minTrustLevel grep.column grep.extendedRegexp grep.fallbackToNoIndex grep.fullName grep.lineNumber
	grep.patternType grep.threads
	gui.wmstate gui.gcwarning gui.geometry gui.blamehistoryctx gui.commitMsgWidth gui.copyBlameThreshold gui.diffContext gui.displayUntracked gui.encoding
	gui.fastCopyBlame gui.matchTrackingBranch gui.newBranchTemplate gui.pruneDuringFetch gui.spellingDictionary gui.trustmtime gui.usettk
	help.autoCorrect http.extraHeader http.*.extraHeader http.lowSpeedLimit http.lowSpeedTime http.maxRequests http.minSessions
	http.noEPSV http.postBuffer http.version http.*.postBuffer http.*.version
	i18n.commitEncoding i18n.logOutputEncoding
	index.recordEndOfIndexEntries index.recordOffsetTable index.skipHash index.sparse index.threads index.version
	init.defaultBranch init.defaultObjectFormat init.defaultRefFormat
	lfs.*.access lfs.*.locksverify lfs.allowincompletepush lfs.concurrenttransfers lfs.fetchexclude lfs.fetchinclude
	lfs.locksverify lfs.repositoryformatversion lfs.skipdownloaderrors
	log.abbrevCommit log.date log.decorate log.diffMerges log.excludeDecoration log.follow log.graphColors log.graphIndent log.initialDecorationSet
	log.mailmap log.showRoot lsrefs.unborn mailinfo.scissors mailmap.blob
	maintenance.*.enabled maintenance.*.schedule maintenance.auto maintenance.autoDetach maintenance.strategy
	maintenance.*.auto maintenance.*.batchSize maintenance.*.splitFactor maintenance.commit-graph.auto maintenance.incremental-repack.auto maintenance.loose-objects.auto
	merge.autoStash merge.branchdesc merge.conflictStyle merge.defaultToUpstream merge.directoryRenames merge.ff merge.log merge.renameLimit
	merge.renames merge.renormalize merge.stat merge.suppressDest merge.verbosity
	notes.*.mergeStrategy notes.displayRef notes.mergeStrategy notes.rewrite.amend notes.rewrite.rebase notes.rewriteMode notes.rewriteRef
	pack.allowPackReuse pack.compression pack.deltaCacheLimit pack.deltaCacheSize pack.depth pack.indexVersion pack.island pack.islandCore
	pack.packSizeLimit pack.preferBitmapTips pack.readReverseIndex pack.threads pack.useBitmapBoundaryTraversal pack.useBitmaps pack.writeBitmaps pack.usePathWalk pack.useSparse pack.window
	pack.windowMemory pack.writeBitmapHashCache pack.writeBitmapLookupTable pack.writeReverseIndex
	protocol.version pull.autoStash pull.ff pull.octopus pull.rebase pull.twohead
	push.autoSetupRemote push.default push.followTags push.gpgSign push.negotiate push.pushOption push.recurseSubmodules
	push.useBitmaps push.useForceIfIncludes
	rebase.abbreviateCommands rebase.autoSquash rebase.autoStash rebase.backend rebase.forkPoint rebase.instructionFormat
	rebase.maxLabelLength rebase.missingCommitsCheck rebase.rebaseMerges rebase.rescheduleFailedExec rebase.stat rebase.updateRefs
	receive.advertiseAtomic receive.advertisePushOptions receive.autogc receive.denyCurrentBranch receive.denyDeleteCurrent
	receive.denyDeletes receive.denyNonFastForwards receive.fsckObjects receive.hideRefs receive.keepAlive receive.maxInputSize
	receive.shallowUpdate receive.unpackLimit receive.updateServerInfo
	reftable.blockSize reftable.geometricFactor reftable.indexObjects reftable.lockTimeout reftable.restartInterval
	remote.*.negotiationInclude remote.*.negotiationRestrict remote.*.fetch remote.*.followRemoteHEAD remote.*.mirror remote.*.prune
	remote.*.pruneTags remote.*.push remote.*.serverOption remote.*.skipDefaultUpdate remote.*.skipFetchAll remote.*.tagOpt remotes.**
	repack.cruftDepth repack.cruftThreads repack.cruftWindow repack.cruftWindowMemory repack.packKeptObjects repack.updateServerInfo
	repack.useDeltaBaseOffset repack.useDeltaIslands repack.writeBitmaps repack.midxMustContainCruft repack.midxSplitFactor repack.midxNewLayerThreshold
	rerere.autoUpdate rerere.enabled replay.refAction revert.reference safe.bareRepository safe.directory showBranch.default
	sparse.expectFilesOutsideOfPatterns splitIndex.maxPercentChange splitIndex.sharedIndexExpire ssh.variant
	stash.showIncludeUntracked stash.showPatch stash.showStat stash.index
	status.aheadBehind status.branch status.compareBranches status.displayCommentPrefix status.relativePaths status.renameLimit status.renames status.short
	status.showStash status.showUntrackedFiles status.submoduleSummary
	submodule.*.active submodule.*.branch submodule.*.fetchRecurseSubmodules submodule.*.ignore submodule.active
	submodule.alternateErrorStrategy submodule.alternateLocation submodule.fetchJobs submodule.propagateBranches submodule.recurse
	tag.forceSignAnnotated tag.gpgSign tag.sort tar.umask transfer.advertiseObjectInfo transfer.advertiseSID transfer.credentialsInUrl transfer.fsckObjects
	transfer.hideRefs transfer.unpackLimit uploadarchive.allowUnreachable uploadpack.allowAnySHA1InWant uploadpack.allowFilter
	uploadpack.allowReachableSHA1InWant uploadpack.allowRefInWant uploadpack.allowTipSHA1InWant uploadpack.hideRefs uploadpack.keepAlive
	uploadpackfilter.allow uploadpackfilter.*.allow uploadpackfilter.tree.maxDepth versionsort.suffix versionsort.prereleaseSuffix worktree.guessRemote worktree.useRelativePaths`)

// pattern returns key in the notation of the list.
func pattern(key string) string {
	section, subsection, variable := split(key)
	if subsection == "" && strings.Count(key, ".") < 2 {
		return section + "." + variable
	}
	return section + ".*." + variable
}

// fetchesLazily has the keys with which any git command fetches missing objects.
var fetchesLazily = names.WordSet("extensions.partialclone remote.*.promisor remote.*.partialclonefilter")

// known reports whether key is harmless with any value.
func known(key string) bool {
	section, _, variable := split(key)
	if harmless(pattern(key)) || harmless(section+".**") || harmless(key) {
		return true
	}
	// No variable of git contains a minus. Other tools store such variables in branches and
	// remotes: gh-resolved, vscode-merge-base.
	return (section == "branch" || section == "remote") && strings.Contains(variable, "-")
}

// overridableKeys lists keys that name a program or a file and have one effective value. If the host sets
// such a key on the command line, the repository's value has no effect.
var overridableKeys = names.LowerWordSet(`
	commit.template core.askPass core.attributesFile core.editor core.excludesFile core.fsmonitor core.hooksPath core.pager
	core.sshCommand diff.external diff.orderFile gpg.program interactive.diffFilter log.showSignature sequence.editor`)

// harmlessValues lists the harmless values of keys that are not harmless in general.
var harmlessValues = map[string]func(string) bool{
	"core.fsmonitor":        names.WordSet("true false yes no on off 1 0"),
	"extensions.refstorage": names.WordSet("files reftable"),
	"submodule.*.update":    names.WordSet("checkout merge none rebase"),
	"log.showsignature":     names.WordSet("false no off 0"),
}

// harmlessValue reports whether e has such a value.
func harmlessValue(e entry) bool {
	allowed := harmlessValues[pattern(e.key)]
	return allowed != nil && allowed(strings.ToLower(e.value))
}
