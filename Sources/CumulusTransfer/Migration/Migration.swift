// Copies a container from CloudKit's web services into a container here, and follows its changes.
//
// `cumulus migrate` runs it: for the public database with a server's key, for one user with its web
// token. Nothing is changed before both sides have answered and the schemas fit. After that, each
// page is saved here before the state file says so. What a page can't bring is told with its place,
// and the rest goes on.
//
// Folder: a migration at work; what it decides is in the folder Plan. Read `Migration`, then
// `Migration+Lanes` and `Migration+Records`; `MigrationTarget` is the other end.

package import CumulusModel
import CumulusSystem
package import CumulusTerminal

package final class Migration {
    package struct Options: Sendable {
        /// Whether a user asks the source; else a server does, by its key.
        package var isOfUser: Bool
        /// The name here of that user; nil: one that the migration makes.
        package var user: String?
        /// What the file with the source's schema says.
        package var schema: Schema
        package var keepsOrigin: Bool
        /// Names here for users of the source, by their record names there.
        package var names: [String: String]

        package init(
            isOfUser: Bool,
            user: String? = nil,
            schema: Schema,
            keepsOrigin: Bool = true,
            names: [String: String] = [:]
        ) {
            self.isOfUser = isOfUser
            self.user = user
            self.schema = schema
            self.keepsOrigin = keepsOrigin
            self.names = names
        }
    }

    let source: SourceClient
    let target: MigrationTarget
    let options: Options
    private let file: MigrationFile
    var state: MigrationState
    var report = MigrationReport()
    var progress: ProgressBar
    private let began = ContinuousClock.now
    /// The record name at the source of the user who asks; empty for a server.
    var caller = ""
    var schema: MigrationSchema?
    var isOver: () -> Bool = { false }
    /// Why records wait for the end of their list.
    var reasons: [String: String] = [:]
    /// When default zones were compared for deletions.
    private var swept: ContinuousClock.Instant?
    private static let sweepPause = Duration.seconds(600)

    /// - Parameters:
    ///   - path: The state file.
    ///   - progress: Drawn while it copies.
    /// - Throws: `InputProblem` for a state file of another source or target, or one in use.
    package init(
        from source: SourceClient,
        into target: MigrationTarget,
        state path: String,
        _ options: Options,
        progress: ProgressBar
    ) throws {
        self.source = source
        self.target = target
        self.options = options
        self.progress = progress
        file = try MigrationFile(path)
        let fresh = MigrationState(source: source.address.text, target: target.text)
        state = try file.read() ?? fresh
        guard state.source == fresh.source, state.target == fresh.target else {
            throw InputProblem(
                "\(path) is of a migration from \(state.source) to \(state.target): name another "
                    + "--state for this one"
            )
        }
        target.didEnd = { [weak self] user in self?.state.sessions[user] = nil }
    }

    /// The users of a text: in each line a record name at the source, a space, and a name here.
    ///
    /// - Throws: `InputProblem` with the line that is none.
    package static func names(in text: String, of file: String) throws -> [String: String] {
        var names: [String: String] = [:]
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let line = line.trimmed
            if line.isEmpty { continue }
            let parts = line.split(separator: " ", maxSplits: 1).map { $0.trimmed }
            guard parts.count == 2, Names.isUserRecordName(parts[0]), names[parts[0]] == nil else {
                throw InputProblem(
                    "\(file):\(index + 1): write a user record name of the source once, a space, "
                        + "and the user's name here"
                )
            }
            names[parts[0]] = parts[1]
        }
        return names
    }

    var folder: String { file.folder }

    func keep() throws {
        if let renewed = source.renewedToken { state.userTokens[renewed.key] = renewed.token }
        try file.write(state)
    }

    // MARK: Copying

    /// Copies everything, or what changed since.
    ///
    /// - Parameters:
    ///   - pause: Between two rounds of following; nil: one round.
    ///   - isOver: Whether the user has ended it: asked after each page.
    package func copy(
        following pause: Duration? = nil,
        until isOver: @escaping () -> Bool = { false }
    ) async throws -> MigrationReport {
        self.isOver = isOver
        try await prepare()
        let result = await Result { try await rounds(pause) }
        return try await ending(result)
    }

    /// What was done; the tokens that were made here end also after a failure.
    ///
    /// Tokens that can't be ended now end at the next run.
    func ending(_ result: Result<Void, any Error> = .success(())) async throws -> MigrationReport {
        progress.clear()
        for line in report.rest { complain(line) }
        report.seconds = (ContinuousClock.now - began) / .seconds(1)
        let ended = await Result { try await endSessions() }
        try result.get()
        try ended.get()
        return report
    }

    private func rounds(_ pause: Duration?) async throws {
        while !isOver() {
            try await round()
            guard let pause else { return }
            shown = ("up to date", 0)
            let next = ContinuousClock.now + pause
            while ContinuousClock.now < next, !isOver() {
                draw()
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// Asks both sides, and changes something here only if all of it can be done.
    private func prepare() async throws {
        let here = try await target.schema()
        let schema = try MigrationSchema(
            options.schema,
            into: here,
            keepsOrigin: options.keepsOrigin
        )
        self.schema = schema
        try await checkSource(schema)
        try await endSessions()
        try await target.create()
        if !SchemaDifference(from: here, to: schema.joined).isEmpty
            || target.environment == .production
        {
            try await target.setSchema(schema.joined)
        }
        if options.isOfUser { try await needUsers([caller]) }
        try keep()
    }

    /// Finds out who asks, and whether it may.
    private func checkSource(_ schema: MigrationSchema) async throws {
        if options.isOfUser {
            caller = try await askCaller()
            return try checkUser()
        }
        guard let type = schema.types.first else {
            throw InputProblem("the schema's file has no record type to copy")
        }
        let request = SourceRequest.query(type, in: .standard, of: .public, keys: [])
        do {
            _ = try await source.ask(request)
        } catch let error as SourceRefusalError {
            // A type without records may be unknown there.
            if error.refusal.code == "NOT_FOUND" { return }
            throw error.refusal.error(of: "\(request.path) of type \(type)")
        }
    }

    /// The record name at the source of the user who asks.
    ///
    /// A token may be good for one request: then the one that the service gave last is in the state
    /// file, and the named one is of no use any more.
    func askCaller() async throws -> String {
        do {
            return try await source.ask(.caller) { try SourceCaller($0).recordName }
        } catch let error as ServiceError where error.code == .notAuthenticated {
            guard let token = source.key.flatMap({ state.userTokens[$0] }) else { throw error }
            source.use(token)
            return try await source.ask(.caller) { try SourceCaller($0).recordName }
        }
    }

    private func round() async throws {
        let isLater = state.lanes.contains { $0.key.caller == caller && $0.value.isDone }
        state.beginRound(of: caller)
        try addLists()
        if options.isOfUser {
            for database in [DatabaseScope.private, .shared] {
                try await takeZones(of: database)
            }
        }
        let lanes = state.openLanes(of: caller)
        for (index, lane) in lanes.enumerated() {
            if isOver() { return try keep() }
            show(lane, left: lanes.count - index)
            try await run(lane)
        }
        if isOver() { return try keep() }
        if isLater { try await sweepLists() }
        if options.isOfUser {
            try await copyUser()
            try await copySubscriptions()
        }
        try keep()
    }

    /// The lists of default zones, which keep no changes.
    private func addLists() throws {
        let database = options.isOfUser ? DatabaseScope.private : .public
        for type in schema?.types ?? [] {
            let lane = MigrationLane(
                caller: caller,
                database: database,
                zone: .standard,
                type: type
            )
            if state.lanes[lane] == nil { state.lanes[lane] = MigrationProgress() }
        }
        try keep()
    }

    private func sweepLists() async throws {
        if let swept, ContinuousClock.now - swept < Migration.sweepPause { return }
        let database = options.isOfUser ? DatabaseScope.private : .public
        try await sweep(MigrationLane(caller: caller, database: database, zone: .standard))
        swept = ContinuousClock.now
    }

    // MARK: Telling

    func show(_ lane: MigrationLane, left: Int) {
        shown = (lane.text, left)
        draw()
    }

    func draw() {
        let seconds = progress.seconds
        let (count, shown) = (report.saved + report.compared, shown)
        progress.draw(Migration.line(count, seconds: seconds, shown.text, left: shown.left))
    }

    private var shown: (text: String, left: Int) {
        get { (shownText, shownLeft) }
        set { (shownText, shownLeft) = newValue }
    }
    private var shownText = ""
    private var shownLeft = 0

    /// The line of progress; the services don't say how many records there are.
    package static func line(_ count: Int, seconds: Double, _ text: String, left: Int) -> String {
        let rate = seconds > 0 ? Int(Double(count) / seconds) : 0
        let count = "\(count) records  \(rate)/s  \(text)"
        return left == 0 ? count : count + (left == 1 ? ", last list" : ", \(left) lists left")
    }

    /// Tells of something that can't be taken over; the rest goes on.
    ///
    /// - Parameters:
    ///   - kind: What is wrong, without names.
    ///   - place: What it is about.
    func fail(_ kind: String, _ place: String) {
        guard report.fail(kind) else { return }
        progress.clear()
        complain("\(place): \(kind)")
    }

    // MARK: Users

    /// Throws if the user who asks is another user here already.
    private func checkUser() throws {
        guard let wanted = options.user, let known = state.users[caller]?.name, wanted != known
        else { return }
        throw InputProblem(
            "the user \(caller) of the source is '\(known)' here already, since records of it were "
                + "copied: leave --user out, or begin anew with another --state and container; "
                + "--users names users before their records come"
        )
    }

    /// Makes the users here who stand for users of the source.
    func needUsers(_ names: some Sequence<String>) async throws {
        var isNew = false
        for name in Set(names).sorted() where state.users[name] == nil {
            let wanted =
                options.names[name]
                ?? (name == caller && !name.isEmpty ? options.user : nil) ?? "migrated\(name)"
            state.users[name] = try await target.user(named: wanted)
            isNew = true
        }
        if isNew { try keep() }
    }

    /// The access tokens that this migration made here, or one that was interrupted.
    private func endSessions() async throws {
        for (user, ids) in state.sessions.sorted(by: { $0.key < $1.key }) {
            for id in ids { try await target.revoke(id, of: user) }
            state.sessions[user] = nil
        }
        try keep()
    }

    func noteSession(_ id: String, of user: String) throws {
        state.sessions[user, default: []].append(id)
        try keep()
    }
}
