// A cluster whose network fails: cut in every way, or slow. Every node goes on, and once the
// network is whole all of them hold equal data, with everything that was acknowledged anywhere.
//
// `cluster/chaos partition`, `clog` and `slow` run more cycles.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(120))) struct NetworkFaultTests {
    /// Runs faults under load and expects one state after.
    private func withLoad(_ faults: (FaultCluster) async throws -> Void) async throws {
        let cluster = try FaultCluster()
        try await cluster.use {
            // Logs go as soon as they may, so that nodes take state as well.
            try await cluster.start(arguments: ["--log-keep-seconds", "1"])
            try await cluster.load()
            try await faults(cluster)
            cluster.network.heal()
            try await Task.sleep(for: .milliseconds(200))
            await cluster.finish()
            try await cluster.expectOne(within: 20)
            report(cluster)
        }
    }

    #if os(Linux)
        /// The same shapes, where the kernel loses the packets.
        @Test(.enabled(if: NamespaceNetwork.isPermitted, "only root can make namespaces"))
        func partitionsOfTheKernelHeal() async throws {
            let network = try NamespaceNetwork(3)
            let cluster = try FaultCluster { (network.address($0), network.prefix($0)) }
            try await cluster.use {
                try await cluster.start(arguments: ["--log-keep-seconds", "1"])
                try await expectToBeCut(cluster, network)
                try await cluster.load()
                var dice = SeededGenerator(seed: Chaos.seed)
                for cycle in 0..<Chaos.cycles {
                    let shape = Shape.allCases[cycle % Shape.allCases.count]
                    for link in lost(shape, cluster, using: &dice) {
                        try network.set(isCut: true, from: link.from, to: link.to)
                    }
                    let longest = Chaos.cycles > 20 ? 5_000 : 600
                    let pause = Int.random(in: 200...longest, using: &dice)
                    try await Task.sleep(for: .milliseconds(pause))
                    try network.heal()
                    let rest = Int.random(in: 50...400, using: &dice)
                    try await Task.sleep(for: .milliseconds(rest))
                }
                await cluster.finish()
                // TCP tries again after pauses as long as the cut.
                try await cluster.expectOne(within: 30)
                report(cluster)
            }
        }

        /// The packets must really be lost, or the rest would show nothing.
        private func expectToBeCut(
            _ cluster: FaultCluster,
            _ network: NamespaceNetwork
        ) async throws {
            var dice = SeededGenerator(seed: Chaos.seed)
            for link in lost(.apart, cluster, using: &dice) {
                try network.set(isCut: true, from: link.from, to: link.to)
            }
            let (one, other) = (try cluster.container(0), try cluster.container(1))
            let id = Record.ID(recordName: "n")
            let note = Record(recordType: "Note", recordID: id)
            _ = try await one.privateCloudDatabase.save(note)
            try await Task.sleep(for: .milliseconds(300))
            #expect((try? await other.privateCloudDatabase.record(for: id)) == nil)
            try network.heal()
            #expect(
                try await eventually {
                    (try? await other.privateCloudDatabase.record(for: id)) != nil
                }
            )
            await one.close()
            await other.close()
        }
    #endif

    /// The directions in which a shape loses packets.
    private func lost(
        _ shape: Shape,
        _ cluster: FaultCluster,
        using dice: inout SeededGenerator
    ) -> [FaultyNetwork.Link] {
        let one = Int.random(in: cluster.nodes.indices, using: &dice)
        let pairs: [(Int, Int)] =
            switch shape {
            case .alone: cluster.pairs.filter { $0.0 == one || $0.1 == one }
            case .apart: cluster.pairs
            case .bridge: cluster.pairs.filter { $0.0 != one && $0.1 != one }
            case .oneWay: []
            }
        let ways = cluster.nodes.indices.filter { shape == .oneWay && $0 != one }
        return pairs.flatMap { [.init(from: $0, to: $1), .init(from: $1, to: $0)] }
            + ways.map { .init(from: one, to: $0) }
    }

    private func report(_ cluster: FaultCluster) {
        let pages = cluster.followers.reduce(0) { $0 + $1.pages }
        let resets = cluster.followers.reduce(0) { $0 + $1.resets }
        print(
            """
            network: seed \(Chaos.seed): \(cluster.acknowledged) acknowledged changes, \
            \(pages) pages of changes, \(resets) expired tokens
            """
        )
        #expect(cluster.acknowledged > 100)
        #expect(pages > 10)
    }

    /// One node alone, all alone, a bridge, one direction only.
    private enum Shape: CaseIterable {
        case alone
        case apart
        case bridge
        case oneWay
    }

    @Test func partitionsHeal() async throws {
        try await withLoad { cluster in
            var dice = SeededGenerator(seed: Chaos.seed)
            for cycle in 0..<Chaos.cycles {
                let shape = Shape.allCases[cycle % Shape.allCases.count]
                let links = lost(shape, cluster, using: &dice)
                for link in links { cluster.network.set(.cut, from: link.from, to: link.to) }
                // Every second time the connections break off as well.
                if cycle % 2 == 1, shape != .oneWay {
                    for link in links { cluster.network.disconnect(link.from, link.to) }
                }
                let longest = Chaos.cycles > 20 ? 3_000 : 600
                try await Task.sleep(
                    for: .milliseconds(Int.random(in: 200...longest, using: &dice))
                )
                cluster.network.heal()
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...400, using: &dice)))
            }
        }
    }

    /// A network that is cut is cut, or the others here would show nothing.
    @Test func whatIsCutIsCut() async throws {
        let cluster = try FaultCluster()
        try await cluster.use {
            try await cluster.start()
            for (one, other) in cluster.pairs { cluster.network.cut(one, other) }
            let containers = try (0..<3).map { try cluster.container($0) }
            let id = Record.ID(recordName: "n")
            let record = Record(recordType: "Note", recordID: id)
            _ = try await containers[0].privateCloudDatabase.save(record)
            try await Task.sleep(for: .milliseconds(300))
            for container in containers[1...] {
                #expect((try? await container.privateCloudDatabase.record(for: id)) == nil)
            }
            cluster.network.heal()
            for container in containers {
                let isThere = try await eventually {
                    (try? await container.privateCloudDatabase.record(for: id)) != nil
                }
                #expect(isThere)
                await container.close()
            }
        }
    }

    /// A link that carries nothing, and that nobody knows of: what its node made comes by another
    /// one.
    @Test func whatALinkKeepsBackComesByAnother() async throws {
        let cluster = try FaultCluster()
        try await cluster.use {
            try await cluster.start()
            let containers = try [0, 2].map { try cluster.container($0) }
            func carries(_ name: String) async throws -> Bool {
                let id = Record.ID(recordName: name)
                let record = Record(recordType: "Note", recordID: id)
                _ = try await containers[0].privateCloudDatabase.save(record)
                return try await eventually(seconds: 5) {
                    (try? await containers[1].privateCloudDatabase.record(for: id)) != nil
                }
            }
            #expect(try await carries("before"))
            // Pulls have settled by then.
            try await Task.sleep(for: .milliseconds(1_500))
            // What the third node tells of this one is still being waited for when more comes.
            #expect(try await carries("just before"))
            cluster.network.cut(0, 2)
            for number in 0..<3 { #expect(try await carries("n\(number)")) }
            for container in containers { await container.close() }
        }
    }

    /// Links stop one after the other and are released in another order.
    @Test func linksThatClogOneByOne() async throws {
        try await withLoad { cluster in
            var dice = SeededGenerator(seed: Chaos.seed)
            for _ in 0..<max(1, Chaos.cycles / 4) {
                var links: [(Int, Int)] = []
                for (one, other) in cluster.pairs { links += [(one, other), (other, one)] }
                for (from, to) in links.shuffled(using: &dice) {
                    cluster.network.set(.cut, from: from, to: to)
                    try await Task.sleep(for: .milliseconds(Int.random(in: 20...200, using: &dice)))
                }
                for (from, to) in links.shuffled(using: &dice) {
                    cluster.network.set(nil, from: from, to: to)
                    try await Task.sleep(for: .milliseconds(Int.random(in: 20...200, using: &dice)))
                }
            }
        }
    }

    /// A peer behind a link of 1 KB/s costs the others neither time nor memory.
    @Test func aSlowPeerHoldsUpNobody() async throws {
        let cluster = try FaultCluster()
        try await cluster.use {
            try await cluster.start()
            let containers = try (0..<3).map { try cluster.container($0) }
            cluster.network.set(.slow(1_000), from: 0, to: 2)
            cluster.network.set(.slow(1_000), from: 2, to: 0)
            cluster.network.cut(1, 2)
            let before = try #require(cluster.nodes[0].residentBytes)
            var lags: [Double] = []
            let records = 20 * Chaos.cycles
            for number in 0..<records {
                let id = Record.ID(recordName: "n\(number)")
                var record = Record(recordType: "Note", recordID: id)
                record["text"] = .string(String(repeating: "x", count: 20_000))
                _ = try await containers[0].privateCloudDatabase.save(record)
                guard number % 10 == 0 else { continue }
                let start = Date()
                let isThere = try await eventually {
                    let found = try? await containers[1].privateCloudDatabase.record(for: id)
                    return found != nil
                }
                #expect(isThere)
                lags.append(Date().timeIntervalSince(start))
            }
            let grown = try #require(cluster.nodes[0].residentBytes) - before
            let last = Record.ID(recordName: "n\(records - 1)")
            let held = try? await containers[2].privateCloudDatabase.record(for: last)
            #expect(held == nil, "the slow link is not slow")
            print(
                """
                slow peer: \(records) records of 20 KB, \(lags.max() ?? 0) s the longest lag of \
                the other peer, \(grown >> 20) MB grown, \
                \(cluster.network.carried(from: 0, to: 2)) bytes over the slow link
                """
            )
            #expect(lags.allSatisfy { $0 < 1 }, "\(lags)")
            #expect(grown < 48 << 20, "the node grew by \(grown >> 20) MB")
            cluster.network.heal()
            let hasCaughtUp = try await eventually(seconds: 60) {
                (try? await containers[2].privateCloudDatabase.record(for: last)) != nil
            }
            #expect(hasCaughtUp)
            for container in containers { await container.close() }
        }
    }

    /// So does one that lacks something of many containers.
    @Test func aSlowPeerWithManyContainersCostsLittle() async throws {
        let cluster = try FaultCluster()
        try await cluster.use {
            try await cluster.start()
            let names = (0..<200).map { "iCloud.test\($0)" }
            let admin = try cluster.operator(of: 0)
            for name in names { _ = try await admin.createContainer(name) }
            await admin.close()
            let hasAll = try await eventually(seconds: 60) {
                let admin = try cluster.operator(of: 2)
                let found = try await admin.containers()
                await admin.close()
                return found.count > names.count
            }
            #expect(hasAll)
            _ = try await cluster.nodes[2].end(SIGKILL)
            let text = FieldValue.string(String(repeating: "x", count: 100_000))
            for name in names {
                let container = try cluster.container(0, identifier: name)
                for number in 0..<2 {
                    let id = Record.ID(recordName: "n\(number)")
                    var record = Record(recordType: "Note", recordID: id)
                    record["text"] = text
                    _ = try await container.privateCloudDatabase.save(record)
                }
                await container.close()
            }
            let before = try #require(cluster.nodes[0].residentBytes)
            cluster.network.cut(1, 2)
            cluster.network.set(.slow(1_000), from: 0, to: 2)
            try await cluster.restart(2)
            var highest = before
            for _ in 0..<100 {
                try await Task.sleep(for: .milliseconds(100))
                highest = max(highest, cluster.nodes[0].residentBytes ?? 0)
            }
            let carried = cluster.network.carried(from: 0, to: 2)
            print("slow peer: \(names.count) containers, \((highest - before) >> 20) MB grown")
            #expect(carried > 0)
            #expect(highest - before < 16 << 20, "\((highest - before) >> 20) MB grown")
        }
    }
}
