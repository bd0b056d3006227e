// The state of a migration as the JSON of its file.
//
// Written after each page, whole, beside the file and renamed; so it is never half written. What
// waits in a lane may be much: it is in a file of its own, which is added to. Reading refuses what
// no migration wrote.

package import CumulusModel
import CumulusTerminal

extension MigrationState {
    private static let format: Int64 = 1

    package var json: JSON {
        let users = users.sorted { $0.key < $1.key }.map { MigrationState.json($0.key, $0.value) }
        let lanes = lanes.map { MigrationState.json($0.key, $0.value) }
        let sessions = sessions.sorted { $0.key < $1.key }.map { entry in
            JSON.Member(entry.key, .array(entry.value.map { JSON.string($0) }))
        }
        return [
            "format": .integer(MigrationState.format), "source": .string(source),
            "target": .string(target), "users": .array(users),
            "lanes": .array(lanes.sorted { $0.text < $1.text }),
            "databases": MigrationState.object(databases),
            "subscriptions": MigrationState.object(subscriptions), "sessions": .object(sessions),
        ]
    }

    private static func json(_ source: String, _ user: MigratedUser) -> JSON {
        [
            "source": .string(source), "name": .string(user.name),
            "recordName": .string(user.recordName),
        ]
    }

    static func object(_ texts: [String: String]) -> JSON {
        .object(texts.sorted { $0.key < $1.key }.map { JSON.Member($0, .string($1)) })
    }

    private static func json(_ lane: MigrationLane, _ progress: MigrationProgress) -> JSON {
        var members = [
            JSON.Member("caller", .string(lane.caller)),
            JSON.Member("database", .string(lane.database.name)),
            JSON.Member("zone", .string(lane.zone.name)),
            JSON.Member("owner", .string(lane.zone.owner)),
        ]
        func add(_ key: String, _ value: JSON?) {
            if let value { members.append(JSON.Member(key, value)) }
        }
        add("type", lane.type.map { .string($0) })
        add("token", progress.token.map { .string($0) })
        add("since", progress.since.map { .integer($0) })
        add("newest", progress.newest.map { .integer($0) })
        add("start", progress.start.map { .integer($0) })
        add("isDone", .bool(progress.isDone))
        if !progress.waiting.isEmpty { add("waiting", progress.waiting.json) }
        add("mark", progress.mark?.json)
        add("mustSweep", .bool(progress.mustSweep))
        add("count", .integer(progress.count))
        return .object(members)
    }

    /// - Throws: `InputProblem` for what no migration wrote, or a later release.
    package init(_ json: JSON) throws {
        do {
            try self.init(SourceObject(json, at: ""))
        } catch {
            throw InputProblem("the state of the migration is damaged: \(error.description)")
        }
    }

    private init(_ object: SourceObject) throws(SourceProblem) {
        guard try object.integer("format") == MigrationState.format else {
            throw SourceProblem("format", "is not \(MigrationState.format)")
        }
        self.init(source: try object.needed("source"), target: try object.needed("target"))
        for (index, json) in try object.neededList("users").enumerated() {
            let user = try SourceObject(json, at: "users[\(index)]")
            users[try user.needed("source")] = MigratedUser(
                name: try user.needed("name"),
                recordName: try user.needed("recordName")
            )
        }
        for (index, json) in try object.neededList("lanes").enumerated() {
            let entry = try SourceObject(json, at: "lanes[\(index)]")
            lanes[try MigrationLane(entry)] = try MigrationProgress(entry)
        }
        databases = try MigrationState.texts(object, "databases")
        subscriptions = try MigrationState.texts(object, "subscriptions")
        guard let sessions = try object.object("sessions") else { return }
        for key in MigrationState.keys(of: sessions) {
            self.sessions[key] = try sessions.strings(key)
        }
    }

    private static func keys(of object: SourceObject) -> [String] {
        guard case .object(let members) = object.json else { return [] }
        return members.map(\.key)
    }

    static func texts(
        _ object: SourceObject,
        _ key: String
    ) throws(SourceProblem) -> [String: String] {
        var texts: [String: String] = [:]
        guard let object = try object.object(key), case .object(let members) = object.json else {
            return texts
        }
        // There may be many: a key is not searched for.
        for member in members {
            guard case .string(let text) = member.value else {
                throw SourceProblem(object.place(member.key), "must be a text")
            }
            texts[member.key] = text
        }
        return texts
    }
}

extension MigrationLane {
    fileprivate init(_ object: SourceObject) throws(SourceProblem) {
        let scopes: [DatabaseScope] = [.public, .private, .shared]
        let name = try object.needed("database")
        guard let database = scopes.first(where: { $0.name == name }) else {
            throw SourceProblem(object.place("database"), "is no database")
        }
        self.init(
            caller: try object.needed("caller"),
            database: database,
            zone: SourceZone(
                name: try object.needed("zone"),
                owner: try object.string("owner") ?? ""
            ),
            type: try object.string("type")
        )
    }
}

extension MigrationProgress {
    fileprivate init(_ object: SourceObject) throws(SourceProblem) {
        token = try object.string("token")
        since = try object.integer("since")
        newest = try object.integer("newest")
        start = try object.integer("start")
        isDone = try object.flag("isDone") ?? false
        if let waiting = try object.object("waiting") { try self.waiting.add(waiting) }
        mark = try object.object("mark").map(MigrationWaiting.Mark.init)
        mustSweep = try object.flag("mustSweep") ?? false
        count = try object.integer("count") ?? 0
    }
}
