// The calls on shares: what a URL leads to, joining by it, and the look-up of participants.
//
// `MethodTable` lists them. Shares are saved, fetched and reported like other records;
// `ShareParsing` reads the participants in a save. `AcceptShare` decides who may join.
//
// Folder: how others are let in. Read `ShareCalls`, then `ShareParsing` and `ShareURLs`.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum ShareCalls {
    static let methods: [MethodEntry] = [
        // The first two refuse callers themselves, once the audit log knows the share.
        .init(.sharingMetadata, .message, begin: metadata),
        .init(.sharingAccept, .message, [.token, .audit], begin: accept),
        .init(
            .sharingLookUp,
            .message,
            .token,
            admit: { context in if let refusal = refusal(of: context) { throw refusal } },
            parse: decoded(LookUpParticipantsRequest.init(wire:)),
            read: lookUp,
            encode: { members, _ in
                let told = members.map { WireShareParts.Participant($0) }
                return LookUpParticipantsResponse(told).encoded()
            }
        ),
        .init(
            .sharingList,
            .parts,
            .operator,
            parse: decoded { try ListSharesRequest(wire: $0).bytes },
            read: list,
            encode: { shares, node in
                let told = shares.map { Answers.share($0.share, $0.zone, node.shareURLs) }
                return ListSharesResponse(encoded: told).encoded()
            }
        ),
        .init(
            .sharingStop,
            .message,
            .act,
            parse: decoded(StopShareRequest.init(wire:)),
            change: stop,
            encode: stopped
        ),
    ]

    private static func metadata(_ context: CallContext) throws {
        context.concerns("share")
        if context.caller.role != .anonymous, let refusal = refusal(of: context) {
            return try refuse(try ShareMetadataRequest(wire: context.message).url, refusal, context)
        }
        let request = try ShareMetadataRequest(wire: context.message)
        let urls = context.node.shareURLs
        let fetch = FetchShareMetadata(
            share: try urls.share(at: request.url),
            wantsRoot: request.wantsRootRecord,
            keys: try context.parser.keys(request.keys)
        )
        try context.concerns(fetch.share) {
            try context.readFromDisk { context in
                let metadata = try fetch.run(
                    context.scope,
                    context.number,
                    by: context.caller,
                    in: context.reader
                )
                return Page(message: Answers.metadata(metadata, urls))
            }
        }
    }

    private static func accept(_ context: CallContext) throws {
        context.concerns("share")
        if let refusal = refusal(of: context) {
            return try refuse(try AcceptShareRequest(wire: context.message).bytes, refusal, context)
        }
        let url = try AcceptShareRequest(wire: context.message).bytes
        let urls = context.node.shareURLs
        let accept = AcceptShare(
            share: try urls.share(at: url),
            limits: context.limits
        )
        try context.concerns(accept.share) {
            try context.change(accept) { [Answers.metadata($0.metadata, urls)] }
        }
    }

    private static func lookUp(
        _ request: LookUpParticipantsRequest,
        _ context: CallContext
    ) throws -> Reading<[ShareDetails.Participant]>? {
        let (count, limit) = (request.handles.count, context.limits.handlesPerRequest)
        guard count <= limit else { throw ServiceError.tooManyItems(count, limit: limit) }
        let handles = try request.handles.map { try Handle($0) }
        let container = try context.scope().container
        return .onDisk(in: .cluster) { context in
            let members = try handles.map {
                try LookUpParticipant(handle: $0).run(in: container, context.reader)
            }
            return Part(members)
        }
    }

    // MARK: For operators

    private static func list(
        _ raw: Bytes,
        _ context: CallContext
    ) throws -> Reading<ArraySlice<OwnedShares.Entry>>? {
        let user = try Names.checkIdentifier(raw[...], "user name")
        return .onDisk { context in
            let shares = try OwnedShares.all(
                of: user,
                in: context.scope.container,
                context.number,
                context.reader
            )
            return Part(list: shares[...])
        }
    }

    private static func stop(
        _ request: StopShareRequest,
        _ context: CallContext
    ) throws -> StopShare {
        let stop = StopShare(
            user: try Names.checkIdentifier(request.user[...], "user name"),
            zone: try Names.checkIdentifier(request.zone[...], "zone name"),
            share: try Names.checkRecordName(request.share[...], "record name of a share")
        )
        context.concerns("\(stop.user): \(stop.zone)/\(stop.share)")
        return stop
    }

    private static func stopped(
        _ existed: Bool,
        _ request: StopShareRequest,
        _ context: CallContext
    ) -> [Bytes] {
        if !existed { context.concernsNothing() }
        return [StopShareResponse(existed).encoded()]
    }

    /// Why a caller has no shared database now; nil means that it has one.
    private static func refusal(of context: CallContext) -> ServiceError? {
        do throws(ServiceError) { _ = try context.identity.session() } catch { return error }
        return context.mayUse(.shared)
    }

    /// Refuses a caller whatever the message is; the audit log says which share it named.
    private static func refuse(
        _ url: @autoclosure () throws -> Bytes,
        _ refusal: ServiceError,
        _ context: CallContext
    ) throws {
        guard context.node.audit != nil, let share = try? context.node.shareURLs.share(at: url())
        else { throw refusal }
        do { try context.concerns(share) { throw refusal } } catch { throw refusal }
    }
}

// MARK: - For the audit log

extension ModifyRecords {
    /// A share that the request saves, or deletes by a name that only the share of a zone has.
    var namedShare: RecordAddress? {
        for save in saves {
            if case .success(let content) = save.content, content.type == Names.shareType {
                return save.address
            }
        }
        return deletes.map(\.address).first { $0.name == Names.zoneShare }
    }
}

extension ModifyZones {
    /// What the caller leaves by deleting a zone of another user.
    var leftShare: RecordAddress? {
        guard database == .shared, let zone = try? deletes.first?.get() else { return nil }
        return RecordAddress(zone: zone, name: Names.zoneShare)
    }
}
