// What a batch is about to do: the plan that `ZoneBatch` makes anew in each round, and to which
// `SavePlanner` adds.

import CumulusModel
import CumulusStorage

extension ZoneBatch {
    /// What is to be done if no item fails any more.
    struct Plan {
        var registers: [Commit.Operation] = []
        var puts: [Commit.Put] = []
        /// Changes of shares, behind the puts.
        var accesses: [Commit.Access] = []
        /// About what the puts take, and the registers before them.
        var putBytes = 0
        /// The items that the puts belong to.
        var savedItems: [Int] = []
        /// Deletions, with what they cascade to, in the order in which they were found.
        var deletions: [(name: String, row: RecordRow)] = []
        /// Those of them that own more than one commit has room for.
        var open: Set<String> = []
        /// Item whose deletion reaches a record.
        var dying: [String: Int] = [:]
        /// Names that are saved.
        var saving: Set<String> = []
        var schemas: [String: TypeSchema] = [:]
        /// What the registers add to the schema.
        var grown = SchemaSize()
        /// deleteSelf references, by the record that they refer to.
        var owned: [String: OwnerCount] = [:]
        /// Puts take references along as they stand.
        var bringsBack = false
        /// What the database held before; nil if it has no quota.
        var used: Int?
        /// Bytes by which the puts make it grow, about.
        var growth = 0
        /// Which assets the saves may name, in the public database.
        var claims: AssetClaims?

        /// A cascade takes further turns of the writer.
        var isLong: Bool { !open.isEmpty }
    }

    /// deleteSelf references to a record.
    struct OwnerCount {
        /// Those that are stored and stay; as long as it isn't exact, some too many.
        var stored = 0
        var isExact = false
        /// Those that this batch brings.
        var added = 0

        var sum: Int { stored + added }
    }
}
