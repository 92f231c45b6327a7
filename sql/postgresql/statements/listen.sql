-- Hear of commits while we sleep.
listen "pillarbox.wake";
