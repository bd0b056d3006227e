// What a call may do in one zone: everything in the caller's own database, what the schema grants
// in the public one, what shares allow in another user's.
//
// Made by `locate` with the zone, once for each call and zone; `RecordAccess` decides by it.

package import CumulusModel

package enum AccessRights: Hashable, Sendable {
    /// Everything: the zone is in the caller's own private database.
    case own
    /// What the schema grants to the caller's roles, type by type: the zone is in the public
    /// database.
    case granted
    /// What shares in force allow: the zone is another user's.
    case viewer(View)

    /// What a user may see of another user's zone.
    package struct View: Hashable, Sendable {
        /// A record and everything below it.
        package struct Tree: Hashable, Sendable {
            /// Name of the share record.
            package var share: String
            package var root: String
            /// The birth of the root's shared life, which is the life that is shown.
            package var birth: Dot
            package var permission: ShareParticipant.Permission

            package init(
                share: String,
                root: String,
                birth: Dot,
                permission: ShareParticipant.Permission
            ) {
                self.share = share
                self.root = root
                self.birth = birth
                self.permission = permission
            }
        }

        /// nil unless the zone is shared as a whole.
        package var wholeZone: ShareParticipant.Permission?
        /// The trees that are shared with the user, sorted by their roots.
        package var trees: [Tree]
        /// Names of the shares that the user administers.
        package var administers: Set<String>

        package init(
            wholeZone: ShareParticipant.Permission? = nil,
            trees: [Tree] = [],
            administers: Set<String> = []
        ) {
            self.wholeZone = wholeZone
            self.trees = trees
            self.administers = administers
        }

        package var isEmpty: Bool { wholeZone == nil && trees.isEmpty }

        /// The highest permission in the zone or in one of these trees; nil if the user sees
        /// nothing there.
        ///
        /// - Parameter roots: Names of roots.
        func permission(below roots: Set<String>) -> ShareParticipant.Permission? {
            let held = trees.filter { roots.contains($0.root) }.map(\.permission)
            return (held + [wholeZone].compactMap { $0 }).max()
        }
    }
}

extension AccessRights {
    /// The user's view of another user's zone; nil in its own database and in the public one.
    package var view: View? {
        if case .viewer(let view) = self { view } else { nil }
    }
}
