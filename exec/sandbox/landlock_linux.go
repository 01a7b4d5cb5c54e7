// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// requiredABI is the first version of Landlock that mediates truncation (3), TCP (4), ioctls of
// devices (5), and signals and abstract sockets (6): Linux 6.12.
const requiredABI = 6

// The rights of landlock(7) that exist in version 6.
const (
	rightsRead    = landlock.AccessFSReadFile | landlock.AccessFSReadDir
	rightsExecute = rightsRead | landlock.AccessFSExecute
	rightsDevice  = landlock.AccessFSReadFile | landlock.AccessFSWriteFile | landlock.AccessFSTruncate | landlock.AccessFSIoctlDev
	// rightsWrite lacks the right to make device files, which a build has no use for.
	rightsWrite = rightsExecute | landlock.AccessFSWriteFile | landlock.AccessFSTruncate | landlock.AccessFSRemoveDir |
		landlock.AccessFSRemoveFile | landlock.AccessFSMakeDir | landlock.AccessFSMakeReg | landlock.AccessFSMakeSock |
		landlock.AccessFSMakeFifo | landlock.AccessFSMakeSym | landlock.AccessFSRefer

	rightsAll = rightsWrite | landlock.AccessFSMakeChar | landlock.AccessFSMakeBlock | landlock.AccessFSIoctlDev
	// rightsFile are those that a rule for a file, not a directory, can have.
	rightsFile = landlock.AccessFSExecute | landlock.AccessFSWriteFile | landlock.AccessFSReadFile |
		landlock.AccessFSTruncate | landlock.AccessFSIoctlDev
)

var rights = map[Access]uint64{Read: rightsRead, Execute: rightsExecute, Write: rightsWrite, Device: rightsDevice}

// dnsPort is added to the ports of a Net, because programs could not look up names of hosts without it.
const dnsPort = 53

func landlockSupported() error {
	abi, err := landlock.LandlockGetABIVersion()
	switch {
	case err == unix.ENOSYS:
		return fmt.Errorf("its kernel has no Landlock; version %d of Linux 6.12 is needed", requiredABI)
	case err == unix.EOPNOTSUPP:
		return errors.New("its kernel was started without Landlock (lsm=, CONFIG_LSM)")
	case err != nil:
		return os.NewSyscallError("landlock_create_ruleset", err)
	case abi < requiredABI:
		return fmt.Errorf("its kernel has version %d of Landlock; version %d of Linux 6.12 is needed", abi, requiredABI)
	}
	return nil
}

// newRuleset returns a Landlock ruleset that permits no file, and the ports of n.
func newRuleset(n Net) (*os.File, error) {
	attr := landlock.RulesetAttr{
		HandledAccessFS: rightsAll,
		Scoped:          landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal,
	}
	if !n.All {
		attr.HandledAccessNet = landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP
	}
	fd, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, os.NewSyscallError("landlock_create_ruleset", err)
	}
	if !n.All && !n.None() {
		err = addPortRules(fd, append([]uint16{dnsPort}, n.Ports...))
	}
	ruleset := os.NewFile(uintptr(fd), "landlock ruleset")
	if err != nil {
		ruleset.Close()
		return nil, err
	}
	return ruleset, nil
}

func addPortRules(ruleset int, ports []uint16) error {
	for _, port := range ports {
		rule := landlock.NetPortAttr{AllowedAccess: landlock.AccessNetConnectTCP, Port: uint64(port)}
		if err := landlock.LandlockAddNetPortRule(ruleset, &rule, 0); err != nil {
			return os.NewSyscallError("landlock_add_rule", err)
		}
	}
	return nil
}

// addFileRule permits access to the file behind fd, and to what is below it.
func addFileRule(ruleset *os.File, fd int, access Access) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	allowed := rights[access]
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		allowed &= rightsFile
	}
	if allowed == 0 {
		return nil
	}
	rule := landlock.PathBeneathAttr{AllowedAccess: allowed, ParentFd: fd}
	return os.NewSyscallError("landlock_add_rule", landlock.LandlockAddPathBeneathRule(int(ruleset.Fd()), &rule, 0))
}

// restrict confines the calling thread. The functions of go-landlock's main package confine all
// threads of the process.
func restrict(ruleset *os.File) error {
	fd := int(ruleset.Fd())
	return os.NewSyscallError("landlock_restrict_self", landlock.LandlockRestrictSelf(fd, 0))
}
