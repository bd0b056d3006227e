// The operator's file of services that wake devices (`--pushes`), and the keys that it names.
//
// Read at the start and again when any of them changes. A file that can't be used leaves the old
// state, and the log says why; what a key's file holds is never part of that.

import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTransport
import Logging

struct PushFile: Sendable {
    /// More than any operator needs.
    private static let mostBytes = 1 << 20
    private static let mostKeyBytes = 16 << 10

    let meter = PushMeter()
    private let file: WatchedFiles<[WatchedFiles<PushSetup>]>

    /// nil without a file.
    init?(_ path: String, _ logger: Logger) throws {
        guard !path.isEmpty else { return nil }
        do {
            file = try WatchedFiles(
                [path],
                onRenewal: { Wiring.tell(logger, of: "file of push services", $0) },
                make: { try PushFile.read(path, logger) }
            )
        } catch {
            throw StartProblem(\.users.pushes, "\(error)")
        }
    }

    /// The services of the file, as it is now.
    var setups: [PushSetup] { file.current.map(\.current) }

    /// What devices of a container's users may be woken with.
    func offers(in container: String) -> [PushOffer] {
        setups.filter { $0.entry.serves(container) }.map(\.offer)
    }

    private static func read(
        _ path: String,
        _ logger: Logger
    ) throws -> [WatchedFiles<PushSetup>] {
        let text = try OperatorFile.bytes(of: path, limit: mostBytes)
        do {
            return try PushEntry.entries(text).map { entry in
                var entry = entry
                entry.keyFile = OperatorFile.place(of: entry.keyFile, beside: path)
                entry.authority = entry.authority.map { OperatorFile.place(of: $0, beside: path) }
                let (known, key) = (entry, entry.keyFile)
                return try WatchedFiles(
                    [key] + [entry.authority].compactMap(\.self),
                    onRenewal: { Wiring.tell(logger, of: "file of \(known.service.name)", $0) },
                    make: {
                        try PushSetup(
                            known,
                            keyFile: OperatorFile.bytes(of: key, limit: mostKeyBytes),
                            authority: known.authority.map {
                                try OperatorFile.bytes(of: $0, limit: mostBytes)
                            }
                        )
                    }
                )
            }
        } catch {
            throw OperatorFile.Unusable("\(path): \(error)")
        }
    }
}

extension Wiring {
    /// Wakes devices until the task is cancelled; no task without a file.
    func deliverPushes(_ node: Node, _ loops: EventLoops) -> [Task<Void, Never>] {
        guard let pushes else { return [] }
        let group = loops.group
        let runner = PushRunner(
            NodeDoor(node) { _ in nil },
            setups: { pushes.setups },
            client: { setup in
                try OutboundPushClient(on: group, authority: setup.authority)
            },
            meter: pushes.meter,
            logger: logger
        )
        return [Task { await runner.run() }]
    }
}
