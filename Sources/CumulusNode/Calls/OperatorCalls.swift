// An operator's calls on the node and its cluster: status, metrics, members, backup, truncation,
// verification, leaving, and what a removed node left behind.
//
// Called through `MethodTable`, which refuses other callers.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire

enum OperatorCalls {
    static func status(_ context: CallContext) throws {
        try context.readFromDisk(in: .cluster) { context in
            Page(message: try context.node.status(context.reader).encoded())
        }
    }

    static func metrics(_ context: CallContext) throws {
        try context.readFromDisk(in: .cluster) { context in
            let text = MetricsText.text(context.node.metrics(context.reader))
            return Page(message: MetricsResponse.encoded(text: text))
        }
    }

    // MARK: Members

    static func listMembers(_ context: CallContext) throws {
        try context.readFromDisk(in: .cluster) { context in
            let members = try context.node.members(context.reader)
            // One member may say something of thousands of containers.
            return Page(members[...], perMessage: 1, encode: OperatorMessages.members)
        }
    }

    static func removeMember(_ context: CallContext) throws {
        let nodeID = try OperatorMessages.removedMember(wire: context.message)
        context.concerns(nodeID.hex)
        guard nodeID != context.node.nodeID else {
            throw ServiceError(
                .invalidArguments,
                "a node does not take itself off the list; ask another node to do it"
            )
        }
        context.change(RemoveMember(nodeID)) { [OperatorMessages.member(existed: $0)] }
    }

    static func leave(_ context: CallContext) {
        context.task { node, time in
            try await node.leave(by: time.end) { time.token.cancellation }
            return []
        }
    }

    // MARK: Data

    static func backUp(_ context: CallContext) throws {
        let raw = try OperatorMessages.backUpPath(wire: context.message)
        let path = try Names.checkText(raw[...], "path")
        context.concerns(path)
        try context.readFromDisk(in: .cluster) { context in
            let made = try context.node.backUp(to: path)
            return Page(message: OperatorMessages.backUp(bytes: made.bytes, files: made.files))
        }
    }

    static func truncate(_ context: CallContext) throws {
        let endsSessions = try OperatorMessages.truncatedSessions(wire: context.message)
        let met = context.node.gate.visible.highestMark
        context.change(Truncate(endsSessions: endsSessions, above: met)) { scopes in
            [OperatorMessages.truncated(scopes: scopes)]
        }
    }

    static func verify(_ context: CallContext) throws {
        let request = try VerifyRequest(wire: context.message)
        context.task(telling: { node, refusal, tell in
            try await node.verify(
                with: request.nodeID,
                repairs: request.repairs,
                tell: tell,
                unless: refusal
            ).encoded()
        })
    }

    /// Takes part of what the directory of a removed node holds.
    static func rescue(_ context: CallContext) throws {
        let (scope, message) = (try context.peerScope(), context.message)
        let parser = context.parser
        // Not on the loop: it may fill a frame.
        context.task { node, _ in
            let request = try rescued(message)
            let kind = request.database == 0 ? nil : try parser.database(request.database)
            return try await node.take(request, in: kind, of: scope).encoded()
        }
    }

    private static func rescued(_ message: Bytes) throws(ServiceError) -> RescueRequest {
        do throws(MalformedMessage) {
            return try RescueRequest(wire: message)
        } catch {
            throw ServiceError(.invalidArguments, .protocolError, error.message)
        }
    }
}
