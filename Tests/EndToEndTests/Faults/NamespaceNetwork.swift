// A network of the kernel's own: a namespace per node, all on one bridge. A cut link silently loses
// packets, in one direction if asked for, as a broken switch does: connections stay open on both
// sides, and TCP sends again after longer and longer pauses.
//
// Only root may make one; other users skip the tests that need it.

#if os(Linux)
    import CumulusTesting
    import Foundation

    final class NamespaceNetwork: Sendable {
        /// Beginning of the names of its parts.
        private let name: String
        private let subnet: String
        private let count: Int

        /// Whether this process may make one.
        static let isPermitted: Bool = geteuid() == 0 && (try? NamespaceNetwork(1)) != nil

        init(_ count: Int) throws {
            let number = UInt16.random(in: 0...0xFFFF)
            name = "cu\(number)"
            // The addresses are in the part of 198.18.0.0/15 that is reserved for tests of
            // networks.
            subnet = "198.18.\(number >> 8)"
            self.count = count
            try ip("link add \(name) type bridge")
            try ip("addr add \(subnet).254/24 dev \(name)")
            try ip("link set \(name) up")
            for node in 0..<count {
                let space = namespace(node)
                try ip("netns add \(space)")
                try ip("link add \(name)v\(node) type veth peer name eth0 netns \(space)")
                try ip("link set \(name)v\(node) master \(name) up")
                try ip("-n \(space) link set eth0 address \(hardware(node))")
                try ip("-n \(space) addr add \(address(node))/24 dev eth0")
                try ip("-n \(space) link set eth0 up")
                try ip("-n \(space) link set lo up")
            }
        }

        deinit {
            for node in 0..<count { try? ip("netns del \(namespace(node))") }
            try? ip("link del \(name)")
        }

        func address(_ node: Int) -> String { "\(subnet).\(node + 1)" }

        /// What a program's words begin with to run where a node does.
        func prefix(_ node: Int) -> [String] {
            ["/usr/bin/env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ip", "netns", "exec"]
                + [namespace(node)]
        }

        private func namespace(_ node: Int) -> String { "\(name)n\(node)" }
        private func hardware(_ node: Int) -> String { "02:00:00:00:00:0\(node + 1)" }

        // MARK: Links

        /// Loses what one node sends to another, or doesn't any more.
        func set(isCut: Bool, from: Int, to other: Int) throws {
            // Nobody has that hardware address.
            let receiver = isCut ? "02:00:00:00:00:ff" : hardware(other)
            let entry = "\(address(other)) lladdr \(receiver) dev eth0 nud permanent"
            try ip("-n \(namespace(from)) neigh replace \(entry)")
        }

        func heal() throws {
            for from in 0..<count {
                for other in 0..<count where other != from {
                    try set(isCut: false, from: from, to: other)
                }
            }
        }

        private func ip(_ words: String) throws {
            try ChildProcess.run(["ip"] + words.split(separator: " ").map(String.init))
        }
    }
#endif
