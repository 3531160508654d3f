import Glibc

/// How many random cases a test tries: a few in `make test`, all of them in `make long-search`, which is a part of
/// `make storm`. The seeds differ from run to run, so the few add up.
package enum LongSearch {
    package static let isOn = getenv("PRSNL_LONG_SEARCH") != nil

    package static func cases(_ few: Int, of all: Int) -> Int { isOn ? all : few }
}
