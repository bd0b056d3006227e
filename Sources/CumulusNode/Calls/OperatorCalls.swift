// An operator's calls on the node and its cluster: status, metrics, members, backup, truncation,
// verification, leaving, and what a removed node left behind.
//
// `MethodTable` lists them, and `MethodEntry` refuses other callers.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusRequests
import CumulusStorage
import CumulusWire

enum OperatorCalls {
    static let methods: [MethodEntry] = [
        .init(
            .operatorMetrics,
            .message,
            [.operator, .anyTime],
            parse: unread,
            read: metrics,
            encode: { text, _ in MetricsResponse(text: text).encoded() }
        ),
        .init(
            .operatorStatus,
            .message,
            [.operator, .anyTime],
            parse: unread,
            read: status,
            encode: { status, _ in status.encoded() }
        ),
        .init(
            .operatorListMembers,
            .parts,
            [.operator, .anyTime],
            parse: unread,
            read: listMembers,
            encode: { members, _ in ListMembersResponse(members).encoded() }
        ),
        .init(
            .operatorRemoveMember,
            .message,
            [.act, .anyTime],
            parse: decoded { try RemoveMemberRequest(wire: $0).bytes },
            change: removeMember,
            encode: oneMessage { RemoveMemberResponse($0).encoded() }
        ),
        .init(
            .operatorBackUp,
            .message,
            .act,
            parse: decoded { try BackUpRequest(wire: $0).bytes },
            read: backUp,
            encode: { made, _ in made.encoded() }
        ),
        .init(
            .operatorTruncate,
            .message,
            .act,
            parse: decoded { try TruncateRequest(wire: $0).flag },
            change: truncate,
            encode: oneMessage { TruncateResponse(scopes: $0).encoded() }
        ),
        .init(
            .operatorVerify,
            .parts,
            .act,
            parse: decoded(VerifyRequest.init(wire:)),
            begin: verify
        ),
        .init(.operatorLeave, .message, [.act, .anyTime], begin: leave),
        .init(.operatorRescue, .message, .act, takesCommits: true, begin: rescue),
    ]

    private static func status(_: Void, _ context: CallContext) -> Reading<NodeStatus>? {
        .onDisk(in: .cluster) { Part(try $0.node.status($0.reader)) }
    }

    private static func metrics(_: Void, _ context: CallContext) -> Reading<String>? {
        .onDisk(in: .cluster) { Part(MetricsText.text($0.node.metrics($0.reader))) }
    }

    // MARK: Members

    private static func listMembers(
        _: Void,
        _ context: CallContext
    ) -> Reading<ArraySlice<WireMember>>? {
        .onDisk(in: .cluster) { context in
            // One member may say something of thousands of containers.
            Part(list: try context.node.members(context.reader)[...], perPart: 1)
        }
    }

    private static func removeMember(
        _ nodeID: Bytes,
        _ context: CallContext
    ) throws -> RemoveMember {
        context.concerns(nodeID.hex)
        guard nodeID != context.node.nodeID else {
            throw ServiceError(
                .invalidArguments,
                "a node does not take itself off the list; ask another node to do it"
            )
        }
        return RemoveMember(nodeID)
    }

    private static func leave(_ context: CallContext) {
        context.task { node, time in
            try await node.leave(by: time.end) { time.token.cancellation }
            return []
        }
    }

    // MARK: Data

    private static func backUp(
        _ raw: Bytes,
        _ context: CallContext
    ) throws -> Reading<BackUpResponse>? {
        let path = try Names.checkText(raw[...], "path")
        context.concerns(path)
        return .onDisk(in: .cluster) { context in
            let made = try context.node.backUp(to: path)
            return Part(BackUpResponse(bytes: made.bytes, files: made.files))
        }
    }

    private static func truncate(_ endsSessions: Bool, _ context: CallContext) -> Truncate {
        Truncate(endsSessions: endsSessions, above: context.node.gate.visible.highestTruncation)
    }

    private static func verify(_ request: VerifyRequest, _ context: CallContext) {
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
    private static func rescue(_ context: CallContext) throws {
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
