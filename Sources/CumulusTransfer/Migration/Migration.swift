// Copies a container from CloudKit's web services into a container here, and follows its changes.
//
// `cumulus migrate` runs it: for the public database with a server's key, for one user with its web
// token. Nothing is changed before both sides have answered, each type may be read, and the schemas
// fit. After that, each page is saved here before the state file says so. What a page can't bring
// is told with its place and tried again in each round, and the rest goes on.
//
// Folder: a migration at work; what it decides is in the folder Plan. Read `Migration`, then
// `Migration+Lanes`, `Migration+Records` and `Migration+Failures`; `MigrationTarget` is the other
// end.

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
    let file: MigrationFile
    var state: MigrationState
    var report = MigrationReport()
    var progress: ProgressBar
    private let began = ContinuousClock.now
    /// The record name at the source of the user who asks; empty for a server.
    var caller = ""
    var schema: MigrationSchema?
    var isOver: () -> Bool = { false }
    /// Whether it compares, and makes no users.
    var isVerifying = false
    /// The names of users at the source, by the users' names here.
    var taken: [String: String] = [:]
    /// Why records wait for the end of their list.
    var reasons: [String: String] = [:]
    /// Why records of the list at hand failed, by their names.
    var trouble: [String: String] = [:]
    /// What failed in this round and is no record of a list.
    var otherFailures = 0
    /// Records that the last comparison of default zones should have deleted.
    private var unswept = 0
    /// How many rounds began.
    var rounds = 0
    /// Lists whose token was refused since they were read to their end.
    var restarted: Set<MigrationLane> = []
    var hasToldOfSweeps = false
    /// When default zones were compared for deletions.
    private var swept: ContinuousClock.Instant?
    private static let sweepPause = Duration.seconds(600)

    /// - Parameters:
    ///   - path: The state file.
    ///   - progress: Drawn while it copies.
    /// - Throws: `InputProblem` for a state file of another source or target, or one in use;
    ///   `ServiceError` if the target does not answer.
    package init(
        from source: SourceClient,
        into target: MigrationTarget,
        state path: String,
        _ options: Options,
        progress: ProgressBar
    ) async throws {
        self.source = source
        self.target = target
        self.options = options
        self.progress = progress
        file = try MigrationFile(path)
        let fresh = MigrationState(
            source: source.address.text,
            target: try await target.address()
        )
        state = try file.read() ?? fresh
        guard state.source == fresh.source, state.target == fresh.target else {
            throw InputProblem(
                "\(path) is of a migration from \(state.source) to \(state.target): name another "
                    + "--state for this one"
            )
        }
        for (there, user) in state.users { taken[user.name] = there }
        target.didEnd = { [weak self] user in self?.state.sessions[user] = nil }
        let tokens = file.tokens
        source.keepTokens { try tokens.keep($0, $1) }
    }

    var folder: String { file.folder }

    func keep() throws { try file.write(state) }

    /// The source, as records say it.
    var container: String { "\(source.address.container)/\(source.address.environment.name)" }

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
        return try await ending(await Result { try await copyRounds(pause) })
    }

    /// What was done; the tokens that were made here end also after a failure.
    ///
    /// Tokens that can't be ended now end at the next run.
    func ending(_ result: Result<Void, any Error>) async throws -> MigrationReport {
        progress.clear()
        if !isVerifying {
            report.failed = otherFailures + unswept + state.failures(of: caller)
        }
        for line in report.rest { complain(line) }
        report.seconds = (ContinuousClock.now - began) / .seconds(1)
        let ended = await Result { try await endSessions() }
        try result.get()
        try ended.get()
        return report
    }

    private func copyRounds(_ pause: Duration?) async throws {
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
        try await target.setSchema(schema.joined, from: here)
        if options.isOfUser { try await needUsers([caller]) }
        try keep()
    }

    /// Finds out who asks, and whether it may.
    private func checkSource(_ schema: MigrationSchema) async throws {
        if options.isOfUser {
            caller = try await askCaller()
            try checkUser()
        } else if schema.types.isEmpty {
            throw InputProblem("the schema's file has no record type to copy")
        }
        for lane in lists(of: schema) { try await probe(lane) }
        tellOfHidden(schema)
    }

    /// Asks for one record of a type: whether it may be read, and fits the schema's file.
    private func probe(_ lane: MigrationLane) async throws {
        let request = SourceRequest.query(
            lane.type ?? "",
            in: lane.zone,
            of: lane.database,
            limit: 1
        )
        do {
            let page = try await page(request, of: lane).page
            for record in page.entries.compactMap(\.record) {
                _ = try mapping.record(record, in: lane.zoneID)
            }
        } catch let error as SourceRefusalError {
            guard lane.isOptional(error.refusal) else {
                throw error.refusal.error(of: "\(request.path) of \(lane.text)")
            }
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
            guard let token = source.key.flatMap({ file.tokens[$0] }) else { throw error }
            source.use(token)
            return try await source.ask(.caller) { try SourceCaller($0).recordName }
        }
    }

    private func round() async throws {
        rounds += 1
        otherFailures = 0
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
        for lane in schema.map(lists) ?? [] where state.lanes[lane] == nil {
            state.lanes[lane] = MigrationProgress()
        }
        try keep()
    }

    func lists(of schema: MigrationSchema) -> [MigrationLane] {
        let database = options.isOfUser ? DatabaseScope.private : .public
        return schema.types.map {
            MigrationLane(caller: caller, database: database, zone: .standard, type: $0)
        }
    }

    private func sweepLists() async throws {
        if let swept, ContinuousClock.now - swept < Migration.sweepPause { return }
        let database = options.isOfUser ? DatabaseScope.private : .public
        let lane = MigrationLane(caller: caller, database: database, zone: .standard)
        unswept = try await sweep(lane) ? 0 : 1
        unswept += trouble.count
        trouble = [:]
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

    /// Says what is wrong, of many alike three times.
    ///
    /// - Parameters:
    ///   - kind: What is wrong, without names.
    ///   - place: What it is about.
    func tell(_ kind: String, _ place: String) {
        guard report.tells(kind) else { return }
        progress.clear()
        complain("\(place): \(kind)")
    }
}
