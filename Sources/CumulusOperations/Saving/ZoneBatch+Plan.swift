// The plan of a batch, which `ZoneBatch` makes anew in each round, and to which `SavePlanner` adds.

import CumulusModel
import CumulusStorage

extension ZoneBatch {
    /// What is done if no further item fails.
    struct Plan {
        var registers: [Commit.Operation] = []
        var puts: [Commit.Put] = []
        /// Changes of shares, which follow the puts.
        var accesses: [Commit.Access] = []
        /// The approximate bytes of the puts, and of the registers before them.
        var putBytes = 0
        /// The items that the puts belong to.
        var savedItems: [Int] = []
        /// Deletions, with the ones that they cascade to, in the order in which they were found.
        var deletions: [(name: String, row: RecordRow)] = []
        /// Deleted records that own more records than one commit has room for.
        var open: Set<String> = []
        /// The item whose deletion reaches a record, by the record's name.
        var dying: [String: Int] = [:]
        /// The names of records that are saved.
        var saving: Set<String> = []
        var schemas: [String: TypeSchema] = [:]
        /// How much the registers add to the schema.
        var grown = SchemaSize()
        /// The numbers of deleteSelf references, by the record that they refer to.
        var owned: [String: OwnerCount] = [:]
        /// Whether puts take along references from the stored records.
        var bringsBack = false
        /// The bytes that the database held before; nil if it has no quota.
        var used: Int?
        /// The approximate bytes by which the puts make it grow.
        var growth = 0
        /// Which assets the saves may name, in the public database.
        var claims: AssetClaims?

        /// Whether a cascade takes further turns of the writer.
        var isLong: Bool { !open.isEmpty }
    }

    /// The number of deleteSelf references to a record.
    struct OwnerCount {
        /// The stored references that stay; until the number is exact, it may count some too many.
        var stored = 0
        var isExact = false
        /// The references that this batch adds.
        var added = 0

        var sum: Int { stored + added }
    }
}
