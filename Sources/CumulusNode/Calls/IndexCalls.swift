// An operator's calls on this node's indexes: list, rebuild, verify.
//
// `MethodTable` lists them. The schema says which indexes there are; these calls are about how
// this node keeps them.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum IndexCalls {
    static let methods: [MethodEntry] = [
        entry(.indexesList, .operator) { desk, _ in try await desk.list() },
        entry(.indexesRebuild, .act) { desk, _ in try await desk.rebuild() },
        entry(.indexesVerify, .operator) { desk, time in try await desk.verify(in: time) },
    ]

    private typealias Work = @Sendable (IndexDesk, TaskTime) async throws -> [WireIndex]

    private static func entry(
        _ method: Method,
        _ needs: MethodEntry.Needs,
        _ work: @escaping Work
    ) -> MethodEntry {
        MethodEntry(
            method,
            .parts,
            needs,
            admit: { _ = try $0.scope() },
            parse: decoded(IndexesRequest.init(wire:)),
            begin: { try answer($0, $1, work) }
        )
    }

    private static func answer(
        _ request: IndexesRequest,
        _ context: CallContext,
        _ work: @escaping Work
    ) throws {
        let scope = try context.scope()
        let byteLimit = context.limits.answerBytes
        context.taskInParts { node, time in
            let desk = IndexDesk(node: node, scope: scope, request: request)
            let indexes = try await work(desk, time)
            return indexes.parts(byteLimit: byteLimit, \.byteCount)
                .map { IndexesResponse(Array($0)).encoded() }
        }
    }
}

/// Answers one call.
private struct IndexDesk: Sendable {
    let node: Node
    let scope: ScopeID
    let request: IndexesRequest

    /// An index of a stored type, with what is told of it.
    private typealias Found = (index: NumberedIndex, type: String, wire: WireIndex)

    func list() async throws -> [WireIndex] {
        let engine = node.gate.engine
        return try await node.gate.reading { reader in
            let zones = try reader.zoneNumbers(of: try scopeNumber(reader))
            return try find(reader).map { index, _, wire in
                var wire = wire
                let cost = try IndexCost(of: index.number, in: zones, reader) {
                    (range) throws(EngineError) in
                    try engine.byteCount(of: .index, range)
                }
                (wire.rows, wire.bytes) = (cost.rows ?? 0, cost.bytes)
                return wire
            }
        }
    }

    func verify(in time: TaskTime) async throws -> [WireIndex] {
        try await node.gate.reading { reader in
            let number = try scopeNumber(reader)
            return try find(reader).map { index, type, wire in
                guard index.isReady else { return wire }
                var wire = wire
                let audit = try IndexAudit(index, of: type, number, reader) {
                    time.refusal.map { time.token.cancellation == nil ? IndexDesk.tooLate : $0 }
                }
                (wire.rows, wire.missing, wire.wrong) = (audit.rows, audit.missing, audit.wrong)
                return wire
            }
        }
    }

    func rebuild() async throws -> [WireIndex] {
        if node.gate.stops.isReadOnly { throw WriteStops.readOnly }
        let found = try await node.gate.reading { reader in
            try find(reader).map { (index: $0.index, type: $0.type) }
        }
        let scope = scope
        try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
            guard let number = try transaction.scope(scope) else { return }
            for (index, type) in found {
                // One that went meanwhile stays away.
                let kept = try transaction.indexes(of: type, number)
                guard kept.contains(where: { $0.number == index.number }) else { continue }
                try ScopeIndexes(of: number).rebuild(index, of: type, &transaction)
            }
        }
        return try await list()
    }

    // MARK: Parts

    private func scopeNumber(_ reader: ReadTransaction) throws -> ScopeNumber {
        guard let number = try reader.scope(scope) else {
            throw Containers.unknown(scope.container)
        }
        return number
    }

    /// The indexes that the request means.
    private func find(_ reader: ReadTransaction) throws -> [Found] {
        let number = try scopeNumber(reader)
        let type = String(decoding: request.recordType, as: UTF8.self)
        let total = try reader.recordCount(of: number)
        let found: [Found] = try reader.indexRows(of: number).compactMap { name, index, row in
            let shown = StoredName.shown(name)
            guard row.state != .dropped, type.isEmpty || shown == type else { return nil }
            let definition = row.definition
            let field = StoredName.shown(definition.field)
            guard request.field.isEmpty || Bytes(field.utf8) == request.field else { return nil }
            var looked = total
            if case .building(_, let count) = row.state { looked = min(count, total) }
            let isReady = row.state == .ready
            let wire = WireIndex(
                recordType: shown,
                field: field,
                form: UInt32(definition.form.rawValue),
                type: definition.type.name,
                isReady: isReady,
                looked: looked,
                records: total
            )
            return (
                NumberedIndex(number: index, definition: definition, isReady: isReady), name, wire
            )
        }
        if found.isEmpty { try checkNames(type, number, reader) }
        return found
    }

    /// Tells names that aren't there from names of fields without an index.
    private func checkNames(
        _ type: String,
        _ scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws {
        let schema = try reader.storedSchema(of: scope, in: self.scope.environment)
        if type.isEmpty { return }
        guard let known = schema.recordType(type) else {
            throw ServiceError(.unknownItem, "Did not find record type: \(type)")
        }
        let field = String(decoding: request.field, as: UTF8.self)
        if field.isEmpty { return }
        let isThere = known.field(field) != nil || SystemField(rawValue: field) != nil
        throw ServiceError(
            .unknownItem,
            isThere
                ? "field '\(field)' of type \(type) has no index; the schema gives it one"
                : "type \(type) has no field '\(field)'"
        )
    }

    private static let tooLate = ServiceError(
        .serviceUnavailable,
        .deadline,
        """
        the call's time was up before all rows were compared; name a record type or a field, or \
        give the call more time
        """
    )
}

extension WireIndex {
    /// Bytes that it takes in an answer, about.
    fileprivate var byteCount: Int {
        recordType.utf8.count + field.utf8.count + type.utf8.count + 64
    }
}
