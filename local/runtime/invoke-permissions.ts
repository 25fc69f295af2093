import * as z from 'zod';
import type { CloudAssembly } from '../assembly/cloud-assembly.ts';
import type { LocalFunction } from './functions.ts';
import { resourcesOfType } from './identity.ts';
import { matches } from './policies.ts';
import type { Resolver } from './resolve.ts';

const permissionSchema = z.object({
  Action: z.string(),
  FunctionName: z.string(),
  Principal: z.string(),
  SourceArn: z.string().optional(),
});

export type InvokingService = 'apigateway.amazonaws.com' | 'events.amazonaws.com';

/** Which services may invoke which functions, by the template's own permissions. */
export class InvokePermissions {
  readonly #permissions: readonly z.infer<typeof permissionSchema>[];

  constructor(assembly: CloudAssembly, resolver: Resolver) {
    this.#permissions = resourcesOfType(assembly, 'AWS::Lambda::Permission').map((resource) =>
      permissionSchema.parse(resolver.properties(resource)),
    );
  }

  /**
   * On AWS a missing permission deploys well, and is then a 500 or silence. Here it is found at the start.
   * @throws Error naming the source and the function
   */
  require(target: LocalFunction, service: InvokingService, sourceArn: string): void {
    const granted = this.#permissions.some(
      ({ Action, FunctionName, Principal, SourceArn }) =>
        Action === 'lambda:InvokeFunction' &&
        [target.spec.name, target.spec.arn].includes(FunctionName) &&
        Principal === service &&
        (SourceArn === undefined || matches(SourceArn, sourceArn, false)),
    );
    if (!granted) throw new Error(`No AWS::Lambda::Permission lets ${sourceArn} invoke ${target.spec.name}.`);
  }
}
