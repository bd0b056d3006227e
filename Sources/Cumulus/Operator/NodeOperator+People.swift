// Users' profiles, and the handles by which others find them.

import CumulusModel
import CumulusWire

extension NodeOperator {
    package struct HeldHandle: Hashable, Sendable {
        package var handle: UserIdentity.LookupInfo
        /// The verifier of the handle.
        package var verifiedBy: String
    }

    package func profile(
        of user: String
    ) async throws -> (profile: UserProfile, handles: [HeldHandle]) {
        let wire = try await core.profile(of: Bytes(user.utf8))
        let handles = wire.handles.compactMap { held in
            UserIdentity.LookupInfo(held).map {
                HeldHandle(handle: $0, verifiedBy: held.verifiedBy)
            }
        }
        return (UserProfile(wire), handles)
    }

    /// Returns false if it was so already.
    package func setProfile(_ profile: UserProfile, of user: String) async throws -> Bool {
        let request = SetProfileRequest(
            user: Bytes(user.utf8),
            displayName: Bytes(profile.displayName.utf8),
            isDiscoverable: profile.isDiscoverable
        )
        return try await call(.accountsSetProfile, message: request.encoded()) {
            try RevokeSessionsResponse(wire: $0).flag
        }
    }

    /// Gives a handle to a user, or takes it away from the user.
    ///
    /// Returns whether the user had it before, and whether another user had it and lost it.
    package func setHandle(
        _ handle: UserIdentity.LookupInfo,
        of user: String,
        isHeld: Bool
    ) async throws -> (existed: Bool, isMoved: Bool) {
        guard let handle = handle.handle else {
            throw ServiceError(
                .invalidArguments,
                "a user record is no handle; give an e-mail address or a telephone number"
            )
        }
        let request = SetHandleRequest(
            user: Bytes(user.utf8),
            handle: handle,
            isHeld: isHeld
        )
        return try await call(.operatorSetHandle, message: request.encoded()) {
            let response = try SetHandleResponse(wire: $0)
            return (response.existed, response.isMoved)
        }
    }
}
