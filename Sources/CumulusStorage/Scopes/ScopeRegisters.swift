// Joins registers, and follows up what depends on them: caches, schemas, scopes, feeds.
//
// `ApplyCommit` calls it for the registers of a commit, and a state sync for the registers of
// another node.

package import CumulusModel

/// The registers of a scope, as the writer keeps them.
package struct ScopeRegisters: Sendable {
    let scope: ScopeNumber

    package init(of scope: ScopeNumber) { self.scope = scope }

    /// Writes registers as one commit of this node.
    package func set(
        _ registers: [Commit.Register],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        _ = try transaction.perform(
            registers.map(Commit.Operation.register),
            in: scope,
            zone: nil,
            author: Author()
        )
    }

    /// Joins a register of another node: `RegisterRule` decides which of two values stays; read
    /// marks of a user are joined.
    ///
    /// - Parameter isCommitted: The register arrives as a commit; what depends on it follows.
    package func join(
        _ theirs: RegisterRow,
        into namespace: String,
        _ key: [Bytes],
        isCommitted: Bool = false,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let ours = try transaction.register(scope, namespace, key)
        if let ours, try !yields(ours, to: theirs, namespace, key, &transaction) { return }
        if namespace == StoredSubscription.namespace {
            let next = try transaction.loadScope(scope).nextPosition
            try ScopeFeeds(of: scope).noteSubscription(
                key,
                from: ours?.value,
                to: theirs.value,
                at: isCommitted ? next - 1 : next,
                &transaction
            )
        }
        transaction.put(.register(scope, namespace, key), theirs)
        noteSchemaSize(namespace, key, isNew: ours == nil, &transaction)
        try follow(theirs, namespace, key, isNew: ours == nil, &transaction)
        try followMixedField(namespace, key, &transaction)
        try followSchema(from: ours, to: theirs, namespace, key, isCommitted, &transaction)
    }

    /// Whether a value gives way to another one; if both stay, writes what joins them.
    private func yields(
        _ ours: RegisterRow,
        to theirs: RegisterRow,
        _ namespace: String,
        _ key: [Bytes],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        if namespace == SchemaRegister.fieldNamespace {
            let types = try transaction.registers(scope, SchemaRegister.mixedNamespace, below: key)
            if !types.isEmpty || ours.value != theirs.value {
                try noteType(theirs, of: key, &transaction)
            }
        }
        if ReadMarks.isNamespace(namespace), !transaction.state.broken.contains(.readMarks) {
            let joined = ours.joiningMarks(of: theirs)
            if joined != ours { transaction.put(.register(scope, namespace, key), joined) }
            return false
        }
        let broken = transaction.state.brokenRegisters
        return theirs.replaces(ours, by: RegisterRule(of: namespace, broken: broken))
    }

    /// Remembers that a field with several types was given this type, and when that first happened.
    private func noteType(
        _ row: RegisterRow,
        of field: [Bytes],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let type = row.value else { return }
        let first = RegisterRow(stamp: row.stamp, value: [])
        try join(first, into: SchemaRegister.mixedNamespace, field + [type], &transaction)
    }

    // MARK: What follows

    /// Follows a register of members, accounts, containers, or of what is lost.
    private func follow(
        _ row: RegisterRow,
        _ namespace: String,
        _ key: [Bytes],
        isNew: Bool,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        if namespace == MemberRegister.namespace {
            let nodeID = transaction.state.node.nodeID
            transaction.state.inherited = try transaction.inheritance(of: nodeID)
        }
        if namespace == MemberRegister.namespace || namespace == MemberRegister.features {
            transaction.state.knownFeatures = [:]
        }
        if AccountRegister.endsSessions(namespace, isNew: isNew) {
            transaction.state.accountsVersion += 1
        }
        if namespace == AccountRegister.deleted || namespace == ContainerRegister.deleted {
            transaction.state.deletionsVersion += 1
        }
        // A node may hear of an address before it hears of the session.
        if namespace == PushRegister.namespace || namespace == AccountRegister.token {
            transaction.state.pushesVersion += 1
        }
        // Callers of the container are judged again.
        if namespace == ContainerRegister.deleted { transaction.state.accountsVersion += 1 }
        if namespace == AccountRegister.profile, let userID = key.first {
            transaction.state.changedProfiles.add(userID)
        }
        if namespace == Truncation.namespace {
            var known = try transaction.loadScope(scope)
            known.truncation = row.rank
            transaction.replaceScope(known)
        }
        if namespace == ContainerRegister.namespace, let name = key.first {
            try makeScopes(of: String(decoding: name, as: UTF8.self), &transaction)
        }
    }

    private func makeScopes(
        of container: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        // Without a number left, the container stays a name: the commits after it must still apply.
        for environment in Environment.allCases where transaction.state.node.nextScope < .max {
            let scope = ScopeID(container: container, environment: environment)
            _ = try transaction.makeScope(scope)
        }
    }

    private func followMixedField(
        _ namespace: String,
        _ key: [Bytes],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard namespace == SchemaRegister.mixedNamespace else { return }
        try forgetLens(&transaction)
        // Other nodes may remember an older value than the one that stands here.
        let field = Array(key.dropLast())
        if let row = try transaction.register(scope, SchemaRegister.fieldNamespace, field) {
            try noteType(row, of: field, &transaction)
        }
    }

    private func followSchema(
        from ours: RegisterRow?,
        to theirs: RegisterRow,
        _ namespace: String,
        _ key: [Bytes],
        _ isCommitted: Bool,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        if namespace == SchemaRegister.typeDropNamespace, let type = key.first {
            let type = String(decoding: type, as: UTF8.self)
            // The indexes go with the dropped type; its successor gets its own.
            for value in [ours?.value, theirs.value] {
                var drops = DropCounts()
                if let value { try drops.add(type, value) }
                forgetSchema(drops.stored(type), isNew: false, &transaction)
            }
        } else if let type = key.first, SchemaRegister.holds(namespace) {
            let isNew = isCommitted && namespace == SchemaRegister.typeNamespace && ours == nil
            forgetSchema(String(decoding: type, as: UTF8.self), isNew: isNew, &transaction)
        }
        noteRoles(namespace, &transaction)
        guard SchemaRegister.isCount(namespace) else { return }
        try forgetLens(&transaction)
        // The records of the dropped type have to be deleted.
        if namespace == SchemaRegister.typeDropNamespace {
            transaction.state.schemaWorkVersion += 1
        }
    }

    // MARK: Caches

    /// Notes that the records of the scope look different from now on.
    private func forgetLens(_ transaction: inout WriteTransaction) throws(EngineError) {
        transaction.state.lenses[scope] = nil
        transaction.state.zonesVersion += 1
        transaction.state.lensVersion += 1
        try ScopeFeeds(of: scope).noteBreak(&transaction)
    }

    /// Notes that a register of a stored type changed.
    ///
    /// The type is read anew when it is needed, and its indexes are settled before the batch ends.
    ///
    /// - Parameter isNew: No record of the type can be here.
    private func forgetSchema(
        _ type: String,
        isNew: Bool,
        _ transaction: inout WriteTransaction
    ) {
        let shown = StoredName.shown(type)
        transaction.state.schema[WriterState.SchemaKey(scope: scope, type: shown)] = nil
        transaction.state.feeds[scope]?.topics.forget(shown)
        transaction.state.schemaVersion += 1
        let key = WriterState.SchemaKey(scope: scope, type: type)
        transaction.state.unsettled[key] = isNew || transaction.state.unsettled[key] == true
    }

    /// Notes that a register changed: roles are read again when they are needed.
    private func noteRoles(_ namespace: String, _ transaction: inout WriteTransaction) {
        guard namespace == SchemaRegister.roleNamespace || namespace == RoleAssignment.namespace
        else { return }
        transaction.state.schemaRoles[scope] = nil
        transaction.state.userRoles = transaction.state.userRoles.filter { $0.key.scope != scope }
        // Readers drop their cached schemas, and followers check again.
        transaction.state.schemaVersion += 1
    }

    /// Updates the size of the schema after a register was written.
    ///
    /// - Parameter isNew: No register with that key existed.
    private func noteSchemaSize(
        _ namespace: String,
        _ key: [Bytes],
        isNew: Bool,
        _ transaction: inout WriteTransaction
    ) {
        guard var size = transaction.state.schemaSizes[scope] else { return }
        if SchemaRegister.isCount(namespace) {
            transaction.state.schemaSizes[scope] = nil
            return
        }
        guard isNew, SchemaRegister.isFixed(namespace) else { return }
        let names = key.map { StoredName.shown(String(decoding: $0, as: UTF8.self)) }
        if namespace == SchemaRegister.typeNamespace, names.count == 1 {
            size.addType(names[0])
        } else if namespace == SchemaRegister.fieldNamespace, names.count == 2 {
            size.addField(names[1], of: names[0])
        }
        transaction.state.schemaSizes[scope] = size
    }
}
