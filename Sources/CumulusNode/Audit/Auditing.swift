// Selects what the audit log says of a connection's calls: refusals, the ends of calls that
// `MethodTable` marks (sign-ins and acts of operators), changes of shares, and shares that end with
// their zone.
//
// Called by `OpenCalls` where a call ends, and by `CallerConnection` where a caller is refused.
// hot: a test for each call.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

/// An item of a call that its caller had no right to.
struct RefusedItem: Sendable {
    var code: ServiceError.Code
    var target: String
}

extension OpenCalls {
    /// Writes down that a call ended.
    ///
    /// - Parameter error: nil means that it was answered.
    func audit(_ call: OpenCall, _ error: ServiceError? = nil) {
        guard let log = node.audit, let method = call.method else { return }
        let code = error?.code ?? call.refused?.code
        let isAct =
            call.isAct || MethodTable.entry(method.rawValue)?.needs.contains(.audit) ?? false
        let isLine = isAct || code.map(\.refusesRights) ?? false
        guard isLine || call.endedShares != nil else { return }
        var line = AuditLine(
            time: node.environment.wallClock(),
            role: identity.role,
            id: identity.auditID(on: node),
            address: link.remoteAddress,
            method: method.protocolName,
            epoch: identity.credential?.epoch ?? node.gate.epochs.accounts
        )
        line.container =
            identity.scope?.container ?? String(decoding: call.container, as: UTF8.self)
        line.target = error == nil ? call.refused?.target ?? call.target : call.target
        line.code = code?.rawValue ?? 0
        line.trace = call.trace?.traceID ?? ""
        let key = key(of: line)
        if isLine { log.note(line, of: key, now: node.environment.now()) }
        guard let ended = call.endedShares else { return }
        // They ended, whatever became of the answer.
        line.code = 0
        ended.write(node) { [node, line] target in
            var line = line
            line.target = target
            log.note(line, of: key, now: node.environment.now())
        }
    }

    /// The key by which lines are limited: a user, or an address.
    private func key(of line: AuditLine) -> String? {
        if identity.caller.role == .operator { return nil }
        return line.id.isEmpty ? CallerNetwork.of(line.address).hex : line.id
    }
}

extension CallerConnection {
    /// Writes down that a caller was refused at the door.
    func audit(_ error: ServiceError) {
        guard let log = node.audit, error.code.refusesRights else { return }
        let line = AuditLine(
            time: node.environment.wallClock(),
            role: Identity().role,
            address: link.remoteAddress,
            method: "HELLO",
            code: error.code.rawValue,
            epoch: node.gate.epochs.accounts
        )
        let key = CallerNetwork.of(link.remoteAddress).hex
        log.note(line, of: key, now: node.environment.now())
    }
}

extension CallContext {
    /// Notes the call's target for the audit log; on the loop.
    func concerns(_ target: @autoclosure () -> String) {
        guard node.audit != nil else { return }
        calls[call.stream]?.target = target()
    }

    /// Reads for the audit log which share a URL means, and goes on; on the loop.
    func concerns(_ share: ShareID, then run: @escaping @Sendable () throws -> Void) throws {
        guard node.audit != nil else { return try run() }
        let scope = try scope()
        let isQueued = node.gate.read(.bulk(identity.readCaller)) { [self] in
            let reader = node.gate.latest(reach: .disk)
            let address = try? reader.scope(scope).flatMap { number throws(EngineError) in
                try reader.shareAddress(share, in: number)
            }
            calls.onLoop { calls in
                guard let open = calls[call.stream] else { return }
                if let address { open.target = address.text(in: .shared) }
                calls.failing(call.stream, run)
            }
        }
        if !isQueued { throw ServiceError.tooManyReads }
    }

    /// Says that the call is about a share, which gets it a line in the audit log; on the loop.
    func concerns(share: RecordAddress?, in database: DatabaseScope) {
        guard node.audit != nil, let share else { return }
        calls[call.stream]?.target = share.text(in: database)
        calls[call.stream]?.isAct = true
    }

    /// The shares that may end with the zones that a request deletes, as they are before; nil if
    /// the audit log doesn't need them.
    func sharesEnding(with request: ModifyZones) throws -> EndedShares? {
        guard node.audit != nil, request.database == .private, !request.deletes.isEmpty else {
            return nil
        }
        let reader = node.gate.latest(reach: .disk)
        return EndedShares(reader: reader, scope: try scope(), caller: caller)
    }

    /// Notes for the audit log that zones were deleted, with the shares in them; on the loop.
    func note(_ ended: EndedShares?, _ outcome: ModifyOutcome, of request: ModifyZones) {
        guard var ended, !outcome.isRepeated else { return }
        for (address, item) in zip(request.deletes, outcome.deletes) {
            guard case .success(let zone) = address, case .success = item else { continue }
            // The caller is the owner.
            ended.zones.append(ZoneAddress(name: zone.name))
        }
        if !ended.zones.isEmpty { calls[call.stream]?.endedShares = ended }
    }

    /// Notes for the audit log that the target of the call had ended before, or never existed.
    func concernsNothing() {
        guard node.audit != nil, let open = calls[call.stream] else { return }
        open.target += " (already ended or unknown)"
    }

    /// Notes the first item that the caller had no right to, or the share that was refused for any
    /// reason; on the loop.
    func noteRefusal(among outcome: ModifyOutcome, of request: ModifyRecords) {
        let share = request.namedShare
        // In a private database no right is missing.
        guard node.audit != nil, request.database != .private || share != nil,
            let open = calls[call.stream]
        else { return }
        let items = zip(outcome.saves, request.saves.map(\.address))
        let deletes = zip(outcome.deletes, request.deletes.map(\.address))
        for (item, address) in Array(items) + Array(deletes) {
            guard case .failure(let failure) = item,
                failure.code.refusesRights || address == share
            else { continue }
            open.refused = RefusedItem(
                code: failure.code,
                target: address.text(in: request.database)
            )
            return
        }
    }

    /// Notes that a share of another user could not be left; on the loop.
    func noteRefusal(among outcome: ModifyOutcome, of request: ModifyZones) {
        guard node.audit != nil, let share = request.leftShare, let open = calls[call.stream],
            case .failure(let failure)? = outcome.deletes.first
        else { return }
        open.refused = RefusedItem(
            code: failure.code,
            target: share.text(in: request.database)
        )
    }
}

extension RefusedItem {
    /// The first record that the caller may not read; nil if the caller may read all of them.
    init?(
        among results: [Result<RecordView, ServiceError>],
        of ids: ArraySlice<Result<RecordAddress, ServiceError>>,
        in database: DatabaseScope
    ) {
        for (result, id) in zip(results, ids) {
            guard case .failure(let error) = result, error.code.refusesRights else { continue }
            self.init(code: error.code, target: (try? id.get())?.text(in: database) ?? "")
            return
        }
        return nil
    }
}

extension RecordAddress {
    /// Database, owner if it is another user, zone and name.
    func text(in database: DatabaseScope) -> String {
        let owner = zone.owner.isEmpty ? "" : "\(zone.owner)/"
        return "\(database.name)/\(owner)\(zone.name)/\(name)"
    }
}

extension ServiceError {
    /// The outcome of a call whose connection ended is not reported.
    static let unanswered = ServiceError(
        .serverResponseLost,
        "the connection ended before the answer"
    )
}

extension ServiceError.Code {
    /// Whether it says that the caller had no right to something.
    fileprivate var refusesRights: Bool {
        self == .notAuthenticated || self == .permissionFailure
    }
}

extension Method {
    /// `recordsFetch` is RECORDS_FETCH.
    var protocolName: String {
        "\(self)".map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }
}

extension Node {
    /// The id of a service key as operators see it, which names the cluster and the key.
    func text(ofKey id: Bytes) -> String { (clusterID + id).hex }
}

extension Identity {
    /// Id of the node, the user or the service key, as operators see it, or the name of an operator
    /// of the cluster; empty for others.
    fileprivate func auditID(on node: Node) -> String {
        if let peer { return peer.hex }
        if let operatorName { return operatorName }
        guard let account else { return "" }
        if case .server = caller.role { return node.text(ofKey: account) }
        return account.hex
    }

    fileprivate var role: String {
        if isPeer { return "peer" }
        return switch caller.role {
        case .anonymous: "anonymous"
        case .operator: "operator"
        case .user: "user"
        case .server: "server"
        }
    }
}
