// Two worlds that differ only in what some callers may not see: two nodes that go on from one past,
// and then others do other things on each of them.
//
// Used by the tests of the sentence that no answer depends on what its caller may not see, one for
// each door of a node: the same calls in the same order get the same answers in both. The nodes
// have one cluster key, so tokens of the past are good in both; time stands still, and the dice
// begin anew before the calls.
//
// Folder: what callers may not see, and nodes that differ in it. Read `HiddenWorlds`, then
// `HiddenScene` with `HiddenScene+Secrets`, and `WireText`, in which answers are compared.

import CumulusModel
import CumulusStorage
import Foundation

package struct HiddenWorlds: Sendable {
    package enum Name: String, CaseIterable, Sendable { case one, other }

    package struct World: Sendable {
        package let name: Name
        package let server: TestServer
        package let still: StillEnvironment
    }

    package let scene: HiddenScene
    package let worlds: [World]

    private static let key = Bytes(repeating: 0x5C, count: 32)

    /// Small, so that answers have many pages, and what lies between is seen by how they end.
    private static var limits: Limits {
        var limits = Limits.standard
        (limits.pageBytes, limits.answerBytes) = (2_048, 8_192)
        return limits
    }

    /// Makes the past, both worlds and what differs, and ends the nodes after the body.
    package static func run(_ body: (HiddenWorlds) async throws -> Void) async throws {
        let (engine, packs, still) = (MemoryEngine(), MemoryPacks(), StillEnvironment())
        let past = try await server(engine, packs, still)
        let scene: HiddenScene
        do {
            scene = try await HiddenScene(at: past)
        } catch {
            try? await past.stop()
            throw error
        }
        try await past.stop()
        var worlds: [World] = []
        do {
            for name in Name.allCases {
                let own = StillEnvironment(at: still.now + 1_000, seed: 2)
                let server = try await server(
                    MemoryEngine(reopening: engine),
                    MemoryPacks(copying: packs),
                    own
                )
                worlds.append(World(name: name, server: server, still: own))
                try await scene.hide(in: name, at: server)
                own.set(still.now + 60_000, seed: 3)
            }
            try await body(HiddenWorlds(scene: scene, worlds: worlds))
        } catch {
            for world in worlds { try? await world.server.stop() }
            throw error
        }
        for world in worlds { try await world.server.stop() }
    }

    private static func server(
        _ engine: MemoryEngine,
        _ packs: MemoryPacks,
        _ still: StillEnvironment
    ) async throws -> TestServer {
        try await TestServer(
            engine: engine,
            packs: packs,
            limits: limits,
            clusterKey: key,
            takesRegistrations: true,
            pushOffers: { _ in [PushOffer(service: .fcm)] },
            still: still
        )
    }
}
