// Random histories of accounts and roles on two or three nodes: passwords, sessions, disabled
// users, roles, and a name that two people register, and whose user is deleted.
//
// `cumulus-sim` and `AccountHistoryTests` run it. Each node is a store that runs the production
// operations; commits and states travel through the production intake, in any order that it allows.
// Links are cut, processes end, logs are truncated, and nodes go back to backups. The invariants
// are in `AccountSimulation+Checks`. A history takes some milliseconds.
//
// Folder: histories of who may come in. Read `AccountSimulation`, then `AccountSimulation+Checks`.

import CumulusModel
import CumulusOperations
import CumulusStorage

struct AccountSimulation: History {
    static let usualSteps = 60
    static let endsAtViolation = true

    /// Something that was done at a node.
    enum Event {
        case password(Bytes, isReset: Bool)
        case opened
        case revoked(Bytes)
        /// All sessions end; the number is greater than the ones that its node had heard of.
        case ended(UInt64)
        case state(UInt64)
        case role(RoleAssignment)
        case registered(Bytes)
        case deleted(Bytes)
        case token
        case touched

        var isOfContainer: Bool {
            if case .role = self { true } else { false }
        }

        var text: String {
            switch self {
            case .password(let value, let isReset):
                "\(isReset ? "an operator" : "a user") sets password \(Bytes(value.suffix(2)).hex)"
            case .opened: "a session begins"
            case .revoked(let digest): "session \(digest.hex) is revoked"
            case .ended(let number): "all sessions end, \(number)"
            case .state(let number): "the user is \(number % 2 == 1 ? "disabled" : "enabled")"
            case .role(let role): "the role is \(role.isGiven ? "given" : "taken"), \(role.number)"
            case .registered(let id): "\(id.hex) registers the name"
            case .deleted(let id): "\(id.hex) is deleted"
            case .token: "a token of the name is made"
            case .touched: "a register is written"
            }
        }
    }

    /// An event with its commit.
    struct Done {
        let event: Event
        let stamp: Stamp
        /// The vector that its node had read of the scope.
        let known: VersionVector

        func knew(_ other: Done) -> Bool { known.covers(other.stamp.dot) }
    }

    /// A session of the owner's.
    struct Opened {
        let digest: Bytes
        let password: Bytes
        /// The vector that the node had read where it began.
        let known: VersionVector
    }

    private let broken: Rule?
    var dice: SeededGenerator
    let stores: [TestStore]
    var cuts: Set<Set<Int>> = []
    private var backups: [Int: any StorageEngine] = [:]
    private(set) var done: [Done] = []
    private(set) var opened: [Opened] = []
    /// The owner of each token that leads to the name of two people.
    private(set) var tokens: [(digest: Bytes, id: Bytes)] = []
    private var made: UInt8 = 0
    var verdict: Verdict

    static let owner = Bytes(repeating: 0xEE, count: 16)
    static let role = "Moderator"
    private static let first = Bytes(repeating: 0xF1, count: 32)
    private static let stolen = Bytes(repeating: 0xF2, count: 32)

    init(_ plan: HistoryPlan) throws {
        broken = plan.broken
        verdict = Verdict(isTold: plan.isTold)
        dice = SeededGenerator(seed: plan.seed)
        stores = try SimulatedStores.make(seed: plan.seed, using: &dice)
        SimulatedStores.spreadClocks(of: stores, using: &dice)
        for store in stores {
            store.breakRegisters(Self.newestOf(without: broken))
            if let broken { store.breakRules(broken.switches) }
        }
        let schema = "DEFINE SCHEMA CREATE ROLE \(Self.role); RECORD TYPE Note (n INT64);"
        let source = SchemaImport.Source.file(try Schema(ckdb: schema), drops: false)
        _ = try stores[0].run(
            WriteRequest(
                SchemaImport(source),
                scope: stores[0].scope,
                caller: .administrator
            )
        ).get()
        try perform(AddUser(name: "owner", id: Self.owner), at: 0, .touched)
        try resetPassword(Self.first, at: 0)
        for other in stores.indices.dropFirst() { try exchange(from: 0, to: other, most: .max) }
    }

    /// Registers whose newest write wins without a rule.
    private static func newestOf(without rule: Rule?) -> Set<String> {
        switch rule {
        case .apart: [AccountRegister.revoked]
        case .number: [AccountRegister.state]
        case .role: [RoleAssignment.namespace]
        case .first: [AccountRegister.user]
        case .operator: [AccountRegister.password]
        default: []
        }
    }

    // MARK: Steps

    mutating func step() throws {
        let changed = try drawStep()
        try check(changed)
    }

    /// Returns the node whose store may have changed.
    private mutating func drawStep() throws -> Int {
        let one = Int.random(in: stores.indices, using: &dice)
        stores[one].now += Int64.random(in: 0...3, using: &dice)
        switch Int.random(in: 0..<100, using: &dice) {
        case ..<13: try changePassword(at: one)
        case ..<18: try resetPassword(next(0xAA), at: one)
        case ..<31: try open(at: one)
        case ..<36: try touch(at: one)
        case ..<43: try revoke(at: one)
        case ..<46: try endSessions(at: one)
        case ..<53: try changeState(at: one)
        case ..<60: try changeRole(at: one)
        case ..<66: try registerOrAddToken(at: one)
        case ..<74: try fault(at: one)
        default:
            let others = stores.indices.filter { $0 != one }
            let to = others[Int.random(in: others.indices, using: &dice)]
            guard !cuts.contains([one, to]) else { return one }
            try exchange(from: one, to: to, most: Int.random(in: 1...4, using: &dice))
            return to
        }
        return one
    }

    /// Something that nobody asked for happens to a node.
    private mutating func fault(at one: Int) throws {
        let store = stores[one]
        switch Int.random(in: 0..<11, using: &dice) {
        case ..<3:
            let pair: Set = [one, (one + 1) % stores.count]
            let isCut = cuts.remove(pair) == nil && cuts.insert(pair).inserted
            count(isCut ? "cuts" : "healed", "the link of \(pair.sorted())", at: one)
        case ..<5:
            try store.restart()
            count("kills", at: one)
        case ..<7:
            try truncate(at: one)
            count("truncations", at: one)
        case ..<9:
            backups[one] = try store.backup()
            count("backups", at: one)
        default:
            guard let one = backups.keys.sorted().randomElement(using: &dice),
                let backup = backups.removeValue(forKey: one)
            else { return }
            try stores[one].restore(backup)
            count("restores", at: one)
        }
    }

    /// The owner knows the password; a thief knows the first one, and what a thief set.
    private mutating func changePassword(at one: Int) throws {
        guard let (proof, password) = try proof(at: one) else { return }
        let isThief = Int.random(in: 0..<10, using: &dice) < 3
        if isThief, password != Self.first, password != Self.stolen { return }
        let new = isThief ? Self.stolen : next(0x0F)
        // The user who changes it has signed in.
        let (store, ticket) = (stores[one], next(0x71))
        guard
            try signIn(proof, password, ticket, at: one),
            let found = try Sessions.find(ticket, now: store.now, in: store.reader)
        else { return }
        let credential = Credential(found, epoch: store.state.accountsVersion)
        let digest = next(0x5E)
        let change = ChangePassword(Self.hashed(new), proof, NewSession(digest: digest))
        let event = Event.password(new, isReset: false)
        guard try perform(change, at: one, event, credential), let last = done.last
        else { return }
        opened.append(Opened(digest: digest, password: new, known: last.known))
    }

    private mutating func resetPassword(_ password: Bytes, at one: Int) throws {
        let reset = ResetPassword(Self.hashed(password), user: "owner")
        try perform(reset, at: one, .password(password, isReset: true))
    }

    private mutating func open(at one: Int) throws {
        guard let (proof, password) = try proof(at: one) else { return }
        let token = next(0x5E)
        let digest = Sessions.digest(of: token)
        guard broken == .version else {
            _ = try signIn(proof, password, digest, at: one)
            return
        }
        // A broken rule: the session doesn't know its password.
        guard try perform(AddToken(token, user: "owner"), at: one, .opened),
            let last = done.last
        else { return }
        opened.append(Opened(digest: digest, password: password, known: last.known))
    }

    private mutating func signIn(
        _ proof: PasswordProof,
        _ password: Bytes,
        _ digest: Bytes,
        at one: Int
    ) throws -> Bool {
        let change = SignIn(proof, NewSession(digest: digest))
        guard try perform(change, at: one, .opened), let last = done.last else {
            return false
        }
        opened.append(Opened(digest: digest, password: password, known: last.known))
        return true
    }

    /// A label or an expiry is written anew.
    private mutating func touch(at one: Int) throws {
        guard let digest = opened.randomElement(using: &dice)?.digest,
            let value = try row(AccountRegister.token, digest, at: one)?.value
        else { return }
        var registers = [
            Commit.Register(namespace: AccountRegister.token, key: [digest], value: value)
        ]
        if broken == .apart {
            // A broken rule: the newest write of a session says whether it was revoked.
            let register = Commit.Register(
                namespace: AccountRegister.revoked,
                key: [digest],
                value: nil
            )
            registers.append(register)
        }
        try write(registers, at: one, .touched)
    }

    private mutating func revoke(at one: Int) throws {
        guard let digest = opened.randomElement(using: &dice)?.digest else { return }
        let change = RevokeSession(digest: digest, user: "owner")
        try perform(change, at: one, .revoked(digest))
    }

    private mutating func endSessions(at one: Int) throws {
        let event = Event.ended(try ended(at: one).map(\.number).max().map { $0 + 1 } ?? 1)
        guard broken == .generations else {
            try perform(EndSessions(user: "owner"), at: one, event)
            return
        }
        // A broken rule: only those end that this node knows. The last commit says when.
        for session in opened {
            let change = RevokeSession(digest: session.digest, user: "owner")
            try perform(change, at: one, .revoked(session.digest))
        }
        let register = Commit.Register(
            namespace: AccountRegister.revoked,
            key: [next(0xE0)],
            value: []
        )
        try write([register], at: one, event)
    }

    private mutating func changeState(at one: Int) throws {
        let number = try stateNumber(at: one)
        let isDisabled = Bool.random(using: &dice)
        let change = SetDisabled(isDisabled, user: "owner")
        let next = isDisabled && number % 2 == 1 ? number + 2 : number + 1
        try perform(change, at: one, .state(next))
    }

    private mutating func changeRole(at one: Int) throws {
        let current = try assignment(at: one)
        let change = ChangeRole(
            user: "owner",
            role: Self.role,
            isGiven: Bool.random(using: &dice)
        )
        let event = Event.role(current.changed(isGiven: change.isGiven))
        try perform(change, at: one, event)
    }

    private mutating func registerOrAddToken(at one: Int) throws {
        guard let user = try Users.find("alice", in: stores[one].reader) else {
            let (id, digest) = (Bytes(next(0xA0).suffix(16)), next(0xA1))
            let register = RegisterUser(
                name: "alice",
                id: id,
                Self.hashed(id + id),
                NewSession(digest: digest)
            )
            if try perform(register, at: one, .registered(id)) {
                tokens.append((digest, id))
            }
            return
        }
        if Int.random(in: 0..<6, using: &dice) == 0 {
            try perform(DeleteUser("alice"), at: one, .deleted(user.id))
            return
        }
        let token = next(0xA2)
        let digest = Sessions.digest(of: token)
        if broken == .ids {
            // A broken rule: a token belongs to a name, and not to an account.
            let value = Bytes("alice".utf8)
            let register = Commit.Register(
                namespace: AccountRegister.token,
                key: [digest],
                value: value
            )
            try write([register], at: one, .token)
        } else {
            try perform(AddToken(token, user: "alice"), at: one, .token)
        }
        tokens.append((digest, user.id))
    }

    // MARK: Commits

    /// Returns false if it changed nothing.
    @discardableResult
    private mutating func perform(
        _ change: some Change,
        at one: Int,
        _ event: Event,
        _ credential: Credential? = nil
    ) throws -> Bool {
        let scope = event.isOfContainer ? stores[one].scope : .cluster
        let caller = credential == nil ? Caller.administrator : .alice
        return try noting(event, at: one) { store in
            let asker = Asker(scope: scope, caller: caller, credential: credential)
            _ = try store.run(WriteRequest(change, for: asker))
        }
    }

    private mutating func write(
        _ registers: [Commit.Register],
        at one: Int,
        _ event: Event
    ) throws {
        _ = try noting(event, at: one) { store in
            try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                let scope = try transaction.makeScope(.cluster)
                try ScopeRegisters(of: scope).set(registers, &transaction)
            }
        }
    }

    /// Remembers what a commit did; returns false if none was made.
    private mutating func noting(
        _ event: Event,
        at one: Int,
        _ work: (TestStore) throws -> Void
    ) throws -> Bool {
        let store = stores[one]
        let scope = event.isOfContainer ? store.scope : .cluster
        let known = try vector(of: scope, at: one)
        try work(store)
        let incarnation = store.state.incarnation
        let dot = Dot(incarnation, try vector(of: scope, at: one)[incarnation])
        guard !known.covers(dot), let number = try store.reader.scope(scope),
            let bytes = try store.reader.get(.commit(number, dot))
        else { return false }
        done.append(Done(event: event, stamp: try Commit(bytes).stamp, known: known))
        count("changes", event.text, at: one)
        return true
    }

    mutating func count(_ what: String, _ text: String = "", at one: Int) {
        verdict.count(what)
        verdict.tell("node \(one): \(what) \(text)")
    }

    /// Bytes that are nobody else's.
    private mutating func next(_ kind: UInt8) -> Bytes {
        made &+= 1
        return Bytes(repeating: kind, count: 30) + [made, kind]
    }

    private static func hashed(_ hash: Bytes) -> HashedPassword {
        HashedPassword(salt: [1], hash: hash)
    }
}
