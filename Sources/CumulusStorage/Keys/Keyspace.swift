// Lists everything durable: each subspace with its key, its value and its family.
//
// This node hands out the numbers (scope, database, zone, index). They occur in keys only, and
// never in anything that is replicated or part of a digest. Rows marked "derived" can be rebuilt
// from the others, and a test does so.
//
// | family  | row            | key                                | value                   |
// | ------- | -------------- | ---------------------------------- | ----------------------- |
// | meta    | format         |                                    | version of the layout   |
// | meta    | node           |                                    | `NodeRow`               |
// | meta    | scope          | container, environment             | scope no.               |
// | meta    | database       | scope, kind, owner                 | database no.            |
// | meta    | zone           | database, zone name                | `ZoneRow`               |
// | meta    | zone state     | zone                               | `ZoneState`, derived    |
// | meta    | zone head      | database, incarnation, zone name   | last seq there, derived |
// | meta    | vector         | scope, incarnation                 | `RunRow`                |
// | meta    | report         | scope, node id                     | its last durable vector |
// | meta    | register       | scope, namespace, key ...          | `RegisterRow`           |
// | meta    | log floor      | scope, incarnation                 | the log begins above it |
// | meta    | staged zone    | zone                               | scope of the sync       |
// | meta    | index          | scope, record type, index no.      | `IndexRow`, local       |
// | meta    | asset usage    | database, user                     | bytes, local            |
// | meta    | pack origin    |                                    | a run, local            |
// | meta    | feed break     | scope                              | position, local         |
// | meta    | feed day       | scope, day                         | first position, local   |
// | meta    | watched head   | scope, topic, zone, device, run    | `WatchedHead`, local    |
// | meta    | subscribed     | scope, register key                | position, local         |
// | meta    | share id row   | scope, share id                    | `ShareIDRow`, local     |
// | meta    | visible zone   | scope, user, owner, zone name      | `VisibleZone`, local    |
// | meta    | hang floor     | zone                               | a vector, local         |
// | meta    | joining        |                                    | empty, local            |
// | meta    | restored       |                                    | empty, local            |
// | records | record         | zone, name                         | `RecordRow`             |
// | records | sibling        | zone, name, birth                  | `RecordRow` not shown   |
// | records | asset          | database, asset digest             | `AssetRow`, local       |
// | records | chunk list     | database, asset digest             | as it travels, local    |
// | records | chunk          | database, chunk digest             | `ChunkRow`, local       |
// | records | pack           | pack no.                           | `PackRow`, local        |
// | index   | change         | zone, view, incarnation, seq, name | empty, derived          |
// | index   | back reference | zone, target, kind, child, field   | target's birth, derived |
// | index   | index row      | zone, index no., value, name       | `IndexedValues`,        |
// |         |                |                                    | derived                 |
// | index   | asset use      | zone, asset digest, name           | empty, derived          |
// | index   | asset loss     | asset digest, conflict             | empty, local            |
// | index   | chunk use      | database, chunk digest, asset      | `ChunkUseRow`, local    |
// |         |                | digest                             |                         |
// | index   | packed         | pack no., offset                   | `PackedRow`, local      |
// | log     | commit         | scope, incarnation, seq            | canonical bytes         |
// | log     | increment      | scope, request id, birth or key,   | stamp, delta; birth of  |
// |         |                | name, field                        | a life with a key       |
// | log     | request        | request id, scope, caller          | `RequestRow`            |
// | log     | conflict       | scope, stamp of the commit, no.    | `Conflict`, local       |
// | log     | stage          | scope, zone of the sync, name      | `StagedRecord`          |
// | log     | wanted asset   | database, asset digest             | empty, local            |
// | log     | cascade debt   | scope, first commit, zone, name    | `CascadeDebt`, local    |
// | log     | topic event    | scope, day, topic, position, zone, | `TopicEvent`, local     |
// |         |                | name                               |                         |
// | log     | mixed          | scope, day, position, zone, name   | `MixedRow`, local       |
// | log     | repeated       | scope, day, zone, name, birth      | `RepeatedRow`, local    |
// | log     | milestone      | scope, position                    | `Milestone`, local      |
// | log     | lease          | database, user, digest             | `LeaseRow`, local       |
// | log     | hang           | zone, name, birth, stamp           | `HangRow`, local        |
// | log     | owed change    | scope, database, type, position,   | `OwedChange`, local     |
// |         |                | zone, name                         |                         |
// | log     | owed index     | scope, zone, name                  | `OwedIndexRows`, local  |
// |         | rows           |                                    |                         |
//
// The release that introduced the format writes all of them.
//
// Folder: the layout of the store: its keys and values. Read `Keyspace`, then `KeyEncoding` and
// `Rows`; `Runs` shortens version vectors.

package import CumulusModel

/// The first byte of every key.
package enum Subspace: UInt8, Sendable {
    case format = 1
    case node = 2
    case scope = 3
    case database = 4
    case zone = 5
    case zoneState = 6
    case zoneHead = 7
    case vector = 8
    case report = 9
    case register = 10
    case logFloor = 11
    case stagedZone = 12
    case index = 13
    case assetUsage = 14
    case packOrigin = 15
    case feedBreak = 16
    case feedDay = 17
    case subscribed = 18
    case watchedHead = 19
    case shareIDRow = 20
    case visibleZone = 21
    case hangFloor = 22
    case joining = 23
    case restored = 24
    case record = 32
    case sibling = 33
    case asset = 34
    case chunkList = 35
    case chunk = 36
    case pack = 37
    case change = 64
    case backReference = 65
    case indexRow = 66
    case assetUse = 67
    case assetLoss = 68
    case chunkUse = 69
    case packed = 70
    case commit = 96
    // 97 was the local order of commits until format 11.
    case increment = 98
    case request = 99
    case conflict = 100
    case stage = 101
    case wantedAsset = 102
    case cascadeDebt = 103
    case topicEvent = 104
    case mixed = 105
    case milestone = 106
    case lease = 107
    case hang = 108
    case repeated = 109
    case owedChange = 110
    case owedIndexRows = 111

    package var family: Family {
        switch self {
        case .format, .node, .scope, .database, .zone, .zoneState, .zoneHead, .vector, .report,
            .register, .logFloor, .stagedZone, .index, .assetUsage, .packOrigin, .feedBreak,
            .feedDay, .subscribed, .watchedHead, .shareIDRow, .visibleZone, .hangFloor,
            .joining, .restored:
            .meta
        case .record, .sibling, .asset, .chunkList, .chunk, .pack: .records
        case .change, .backReference, .indexRow, .assetUse, .assetLoss, .chunkUse, .packed: .index
        case .commit, .increment, .request, .conflict, .stage, .wantedAsset, .cascadeDebt,
            .topicEvent, .mixed, .milestone, .lease, .hang, .repeated, .owedChange,
            .owedIndexRows:
            .log
        }
    }
}

package typealias ScopeNumber = UInt16
package typealias DatabaseNumber = UInt32
package typealias ZoneNumber = UInt32
package typealias IndexNumber = UInt32

/// A key and its family.
package struct RowKey: Hashable, Sendable {
    package let family: Family
    package let bytes: Bytes

    package init(_ subspace: Subspace, bytes: Bytes) {
        family = subspace.family
        self.bytes = bytes
    }

    package init(_ subspace: Subspace, _ build: (inout KeyWriter) -> Void = { _ in }) {
        var writer = KeyWriter(subspace)
        build(&writer)
        family = subspace.family
        bytes = writer.bytes
    }

    package static let format = RowKey(.format)
    package static let node = RowKey(.node)
    /// Present until a node that joins a cluster has taken a state.
    package static let joining = RowKey(.joining)
    /// Present until a node that began with a backup has caught up with another node.
    package static let restored = RowKey(.restored)

    package static func scope(_ scope: ScopeID) -> RowKey {
        RowKey(.scope) {
            $0.add(scope.container)
            $0.add(scope.environment.rawValue)
        }
    }

    package static func database(_ scope: ScopeNumber, _ database: DatabaseID) -> RowKey {
        RowKey(.database) {
            $0.add(scope)
            $0.add(database.kind.rawValue)
            $0.add(database.owner)
        }
    }

    package static func zone(_ database: DatabaseNumber, _ name: String) -> RowKey {
        RowKey(.zone) {
            $0.add(database)
            $0.add(name)
        }
    }

    package static func zoneState(_ zone: ZoneNumber) -> RowKey {
        RowKey(.zoneState) { $0.add(zone) }
    }

    package static func zoneHead(
        _ database: DatabaseNumber,
        _ incarnation: Incarnation,
        _ name: String
    ) -> RowKey {
        RowKey(.zoneHead) {
            $0.add(database)
            $0.add(incarnation.value)
            $0.add(name)
        }
    }

    package static func vector(_ scope: ScopeNumber, _ incarnation: Incarnation) -> RowKey {
        RowKey(.vector) {
            $0.add(scope)
            $0.add(incarnation.value)
        }
    }

    package static func report(_ scope: ScopeNumber, _ nodeID: Bytes) -> RowKey {
        RowKey(.report) {
            $0.add(scope)
            $0.add(fixed: nodeID)
        }
    }

    package static func logFloor(_ scope: ScopeNumber, _ incarnation: Incarnation) -> RowKey {
        RowKey(.logFloor) {
            $0.add(scope)
            $0.add(incarnation.value)
        }
    }

    /// A zone number that a state sync fills and nothing points to yet.
    package static func stagedZone(_ zone: ZoneNumber) -> RowKey {
        RowKey(.stagedZone) { $0.add(zone) }
    }

    /// A record of a state sync, kept until the end of the sync.
    package static func stage(_ scope: ScopeNumber, _ zone: UInt32, _ name: String) -> RowKey {
        RowKey(.stage) {
            $0.add(scope)
            $0.add(zone)
            $0.add(name)
        }
    }

    package static func index(
        _ scope: ScopeNumber,
        _ type: String,
        _ number: IndexNumber
    ) -> RowKey {
        RowKey(.index) {
            $0.add(scope)
            $0.add(type)
            $0.add(number)
        }
    }

    package static func register(
        _ scope: ScopeNumber,
        _ namespace: String,
        _ key: [Bytes]
    ) -> RowKey {
        RowKey(.register) {
            $0.add(scope)
            $0.add(namespace)
            for part in key { $0.add(text: part) }
        }
    }

    package static func record(_ zone: ZoneNumber, _ name: String) -> RowKey {
        RowKey(.record) {
            $0.add(zone)
            $0.add(name)
        }
    }

    /// A life of a record that is not shown.
    package static func sibling(_ zone: ZoneNumber, _ name: String, _ birth: Dot) -> RowKey {
        RowKey(.sibling) {
            $0.add(zone)
            $0.add(name)
            $0.add(birth)
        }
    }

    /// An entry of the conflict log.
    package static func conflict(_ scope: ScopeNumber, _ stamp: Stamp, _ number: UInt16) -> RowKey {
        RowKey(.conflict) {
            $0.add(scope)
            $0.add(stamp.time.value)
            $0.add(stamp.dot)
            $0.add(number)
        }
    }

    /// View 0 is the whole zone.
    package static func change(_ zone: ZoneNumber, _ dot: Dot, _ name: String) -> RowKey {
        RowKey(.change) {
            $0.add(zone)
            $0.add(UInt32(0))
            $0.add(dot)
            $0.add(name)
        }
    }

    /// The record that a change row names.
    package static func changedRecord(_ key: Bytes) throws(EngineError) -> String {
        try change(key).name
    }

    /// The dot and the name in a change row's key.
    package static func change(_ key: Bytes) throws(EngineError) -> (dot: Dot, name: String) {
        var parts = KeyReader(key)
        _ = try parts.number(ZoneNumber.self)
        _ = try parts.number(UInt32.self)
        return (try parts.dot(), try parts.text())
    }

    package static func backReference(
        _ zone: ZoneNumber,
        target: String,
        _ kind: BackReferenceKind,
        child: String,
        field: String
    ) -> RowKey {
        RowKey(.backReference) {
            $0.add(zone)
            $0.add(target)
            $0.add(kind.rawValue)
            $0.add(child)
            $0.add(field)
        }
    }

    package static func commit(_ scope: ScopeNumber, _ dot: Dot) -> RowKey {
        RowKey(.commit) {
            $0.add(scope)
            $0.add(dot)
        }
    }

    /// A record around which a cascade still has to delete something.
    ///
    /// The commit that began a cascade names it.
    package static func cascadeDebt(
        _ scope: ScopeNumber,
        _ cascade: Dot,
        _ zone: ZoneNumber,
        _ name: String
    ) -> RowKey {
        RowKey(.cascadeDebt) {
            $0.add(scope)
            $0.add(cascade)
            $0.add(zone)
            $0.add(name)
        }
    }

    /// - Parameter identity: The life's identity, see `RecordRow.identity`. Records that one commit
    ///   created share it, so the name is part of the key.
    package static func increment(
        _ scope: ScopeNumber,
        _ request: RequestID,
        _ identity: Dot,
        _ name: String,
        _ field: String
    ) -> RowKey {
        RowKey(.increment) {
            $0.add(scope)
            $0.add(fixed: request.bytes)
            $0.add(identity)
            $0.add(name)
            $0.add(field)
        }
    }

    package static func request(
        _ request: RequestID,
        _ scope: ScopeNumber,
        _ caller: String
    ) -> RowKey {
        RowKey(.request) {
            $0.add(fixed: request.bytes)
            $0.add(scope)
            $0.add(caller)
        }
    }
}

/// Why a record stands in the back-reference index of its target.
package enum BackReferenceKind: UInt8, CaseIterable, Sendable {
    /// The record is deleted with its target.
    case deleteSelf = 1
    /// The target is the parent, which can't be deleted before the record.
    case parent = 2
}

/// 16 bytes that name a request: 6 bytes of milliseconds by the server's clock, 10 random bytes.
package struct RequestID: Hashable, Sendable {
    package let bytes: Bytes

    /// nil unless there are exactly 16 bytes.
    package init?(_ bytes: Bytes) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    package init(milliseconds: Int64, using dice: inout some RandomNumberGenerator) {
        let time = (0..<6).reversed().map { UInt8(truncatingIfNeeded: milliseconds >> ($0 * 8)) }
        bytes = time + (0..<10).map { _ in UInt8.random(in: 0...255, using: &dice) }
    }

    package var milliseconds: Int64 {
        bytes.prefix(6).reduce(0) { $0 << 8 | Int64($1) }
    }
}
