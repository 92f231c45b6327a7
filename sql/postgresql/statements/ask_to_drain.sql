-- Asks a relay to drain and stop. $1 claimed_by. Returns it when there is such a relay.
update pillarbox.relay set drain_asked = true where claimed_by = $1 returning claimed_by;
