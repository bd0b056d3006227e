// What refused saves show of the server's records counts from the writer on, like what is read.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct ConflictRoomTests {
    private static let scope = ScopeID(container: "iCloud.test", environment: .development)

    /// A loop that is busy until the test lets it go on.
    private final class BusyLoop: FrameLoop {
        private let waiting = Mutex<[@Sendable () -> Void]>([])

        func execute(_ work: @escaping @Sendable () -> Void) {
            waiting.withLock { $0.append(work) }
        }

        func goOn() {
            let work = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for step in work { step() }
        }
    }

    private final class BusyLink: FrameLink {
        let busy = BusyLoop()
        var loop: any FrameLoop { busy }
        let isLoopback = true
        let remoteAddress: Bytes = []
        let certificate: Bytes = []

        func needsTurn() {}
    }

    private func save(_ text: Int) -> ModifyRecords {
        let item = SaveItem("r", ["text": .string(String(repeating: "x", count: text))])
        return ModifyRecords(database: .public, policy: .ifUnchanged, saves: [item])
    }

    private func request(_ change: ModifyRecords) -> WriteRequest<ModifyRecords> {
        WriteRequest(change, scope: Self.scope, caller: Caller(role: .user("_ada")))
    }

    /// A loop that is slow to take them, and a caller that takes none: no more of them are made
    /// than have room, and all is given back.
    @Test func conflictsWaitWithinTheBound() throws {
        let limits = limits { $0.nodeUnansweredBytes = 8 << 20 }
        var configuration = Node.Configuration(
            version: Release.version,
            container: Self.scope.container,
            operatorToken: [1]
        )
        configuration.limits = limits
        let node = try Node(
            configuration,
            engine: MemoryEngine(),
            environment: TestServer.environment
        )
        let token = CallToken(deadline: node.environment.now() + 60_000)
        let first = StoreGate.Request(request(save(400_000)), token) { _ in }
        #expect(node.gate.submit(.init(first, byteCount: 1, loop: InPlaceLoop.shared)))
        #expect(node.gate.runBatch())

        let link = BusyLink()
        let room = ConnectionRoom(node.meter, limits)
        let frames = ConnectionFrames(FrameConnection(limits: limits, now: node.environment.now()))
        let calls = OpenCalls(node: node, link: link, frames: frames, room: room)
        node.meter.connections.add(1)
        let sizes = Mutex<[Int]>([])
        let count = 40
        for number in 0..<count {
            let stream = UInt32(2 * number + 1)
            let header = CallHeader(.recordsModify)
            calls.enter(
                OpenCall(token: token, of: header, start: 0, requestBytes: 0, credit: 0),
                on: stream
            )
            let call = Call(stream: stream, header: header, message: [])
            calls.submit(call, request(save(1)), nil) { answer in
                sizes.withLock { $0.append(answer.shownBytes) }
                return [Bytes(repeating: 0, count: max(1, answer.shownBytes))]
            }
            #expect(node.gate.runBatch())
        }
        // None of the answers has come to the loop.
        let most = limits.nodeUnansweredBytes / 4 * 3
        #expect(node.meter.heldBytes.value > most - 400_100)
        #expect(node.meter.heldBytes.value <= most)
        link.busy.goOn()
        let shown = sizes.withLock { $0 }
        #expect(shown.count == count)
        #expect(shown.filter { $0 >= 400_000 }.count == most / 400_100)
        #expect(shown.filter { $0 == 0 }.count == count - most / 400_100)
        // They wait for credit now.
        #expect(node.meter.heldBytes.value > most - 400_100)
        #expect(node.meter.heldBytes.value <= most + count)
        // Nobody else's are made meanwhile.
        #expect(!room.hasRoom(for: 400_000))
        calls.close()
        room.hold(0)
        #expect(node.meter.heldBytes.value == 0)
    }
}
