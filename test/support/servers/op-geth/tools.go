//go:build tools

// Package testbed names what `.ci/run` builds: op-geth, whose module calls itself go-ethereum.
package testbed

import _ "github.com/ethereum/go-ethereum/cmd/geth"
